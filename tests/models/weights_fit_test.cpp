#include "models/weights_fit.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/file.h"
#include "models/weight_names.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "support/torch_bytes.h"

namespace trainyard::network {
namespace {

namespace tb = torch_bytes;

std::vector<int> ints(std::span<const int64_t> dims) {
  return {dims.begin(), dims.end()};
}

// Every parameter of `graph`, filled with zeros after the `first` number, under the name that
// `rename` gives it.
template <typename Rename>
std::string file_of(const Graph& graph, const Rename& rename, float first = 0) {
  tb::Members members;
  tb::Members storages;
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    if (value.constant != nullptr) continue;
    const auto count = static_cast<int>(value.type.shape.num_elements());
    const std::string key = std::to_string(storages.size());
    members.emplace_back(
        rename(value.name),
        tb::tensor(key, count, 0, ints(value.type.shape.dims()), ints(value.type.shape.strides())));
    std::vector<float> numbers(static_cast<size_t>(count));
    numbers[0] = first;
    storages.emplace_back(key, tb::floats(numbers));
  }
  return tb::zip_file(tb::dict(members), storages);
}

std::string replace(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class WeightsFitTest : public ::testing::Test {
 protected:
  std::unique_ptr<runs::WeightsFile> open(const std::string& bytes) const {
    write_file(folder_ / "w.pth", bytes);
    return runs::open_weights(folder_ / "w.pth");
  }
  TemporaryFolder folder_{"weights_fit_test"};
};

TEST(WeightNames, KnowPublishedNames) {
  const auto has = [](std::string_view from, std::string_view to) {
    const std::vector<std::string> names = candidate_names(from);
    return std::find(names.begin(), names.end(), to) != names.end();
  };
  EXPECT_TRUE(has("state_dict.module.conv1.weight", "conv1.weight"));
  EXPECT_TRUE(has("module.linear.bias", "fc.bias"));
  EXPECT_TRUE(has("layer2.0.shortcut.1.running_mean", "layer2.0.downsample.1.running_mean"));
  EXPECT_TRUE(has("features.denseblock1.denselayer2.norm.1.weight",
                  "features.denseblock1.denselayer2.norm1.weight"));
  EXPECT_TRUE(has("base_net.0.0.weight", "conv1.weight"));
  EXPECT_TRUE(has("base_net.0.1.bias", "conv1.bn.bias"));
  EXPECT_TRUE(has("base_net.13.0.weight", "block13.depthwise.weight"));
  EXPECT_TRUE(has("base_net.13.4.running_var", "block13.pointwise.bn.running_var"));
  EXPECT_TRUE(has("model.3.3.weight", "block3.pointwise.weight"));
  EXPECT_TRUE(has("classification_headers.5.bias", "heads.5.scores.bias"));
  EXPECT_TRUE(has("regression_headers.0.weight", "heads.0.locations.weight"));
  EXPECT_TRUE(has("extras.2.0.weight", "extras.2.reduce.weight"));
  EXPECT_TRUE(has("extras.2.2.weight", "extras.2.conv.weight"));
  EXPECT_TRUE(is_for_training_only("module.bn1.num_batches_tracked"));
  EXPECT_TRUE(is_for_training_only("optimizer.state.0.momentum_buffer"));
  EXPECT_FALSE(is_for_training_only("fc.weight"));
  for (const std::string name :
       {"base_net.", "base_net.x.0", "extras.", "extras.1", "model.", ""}) {
    EXPECT_FALSE(candidate_names(name).empty());
  }
}

TEST_F(WeightsFitTest, CifarResnetsOfOthersFit) {
  const Graph graph = load({.model = "resnet18-cifar"});
  const auto file = open(file_of(graph, [](const std::string& name) {
    return "module." + replace(replace(name, "downsample", "shortcut"), "fc.", "linear.");
  }));
  const WeightsFit fit = fit_weights(graph, *file);
  EXPECT_TRUE(fit.complete());
  EXPECT_EQ(fit.pairs.size(), file->tensors().size());
}

TEST_F(WeightsFitTest, ClassesFollowTheFile) {
  const Graph seven = load({.model = "resnet20-cifar", .classes = 7});
  const auto file = open(file_of(seven, [](const std::string& name) { return name; }));
  const FittedNetwork fitted = fit_network({.model = "resnet20-cifar"}, *file);
  EXPECT_TRUE(fitted.fit.complete());
  EXPECT_EQ(fitted.graph.value(fitted.graph.outputs()[0]).type.shape[1], 7);
  const FittedNetwork ten = fit_network({.model = "resnet20-cifar", .classes = 10}, *file);
  EXPECT_EQ(ten.fit.misfits.size(), 2U);
}

TEST_F(WeightsFitTest, DifferencesAreListed) {
  const Graph graph = load({.model = "lenet5"});
  const auto file = open(file_of(graph, [](const std::string& name) {
    return name == "conv1.weight" ? std::string("odd") : name;
  }));
  const WeightsFit fit = fit_weights(graph, *file);
  EXPECT_EQ(fit.missing.size(), 1U);
  EXPECT_EQ(fit.surplus, std::vector<std::string>{"odd"});
  EXPECT_NE(differences_text(fit, 8).find("'odd' is no parameter"), std::string::npos);
  Graph loaded = load({.model = "lenet5"});
  const std::string message =
      message_of([&] { load_weights(loaded, (folder_ / "w.pth").string()); });
  EXPECT_NE(message.find("do not fit lenet5"), std::string::npos);
}

TEST_F(WeightsFitTest, TorchFilesLoadAsWeights) {
  Graph graph = load({.model = "lenet5"});
  EXPECT_TRUE(has_random_weights(graph));
  open(file_of(graph, [](const std::string& name) { return name; }));
  load_weights(graph, (folder_ / "w.pth").string());
  EXPECT_FALSE(has_random_weights(graph));
}

TEST_F(WeightsFitTest, NumbersThatAreNotFiniteAreRefused) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Graph graph = load({.model = "lenet5"});
    open(file_of(
        graph, [](const std::string& name) { return name; }, bad));
    const std::string message =
        message_of([&] { load_weights(graph, (folder_ / "w.pth").string()); });
    EXPECT_NE(message.find("w.pth: tensor '"), std::string::npos) << message;
    EXPECT_NE(message.find("has 1 numbers that are not finite"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace trainyard::network
