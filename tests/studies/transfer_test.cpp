#include "studies/transfer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/image.h"
#include "models/network.h"
#include "studies/transfer_features.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "train/training_step.h"

namespace trainyard::recipes {
namespace {

constexpr const char* kData = "synthetic:3x16x16,classes=3,size=96,seed=5";

// Every parameter as a number, as if it had been learned.
Graph with_weights(const std::string& model, int64_t batch) {
  Graph graph = network::load({.model = model, .batch = batch, .image = 16});
  for (const ValueId id : graph.initializers()) {
    Value& value = graph.mutable_value(id);
    if (value.constant != nullptr) continue;
    // Normalization as it is leaves residuals to grow without end.
    if (value.name.find("bn2.weight") != std::string::npos) value.rule = init_constant(0.1);
    value.constant = initializer_data(value, /*seed=*/3);
  }
  return graph;
}

TransferConfig small_config(const std::vector<std::string>& modes) {
  TransferConfig config;
  config.training.model = "resnet20-cifar";
  config.training.data = kData;
  config.training.augment = "normalize";
  config.training.schedule = "";
  config.training.batch = 16;
  config.training.epochs = 2;
  config.training.threads = 1;
  config.training.freeze_statistics = true;
  for (const std::string& mode : modes) config.modes.push_back(parse_transfer_mode(mode));
  config.rates = {0.01};
  return config;
}

class Transfer : public ::testing::Test {
 protected:
  TransferResult run(const TransferConfig& config) {
    return transfer(config, network_, *training_, *test_, folder_ / "study", hooks_);
  }

  TemporaryFolder folder_{"transfer_test"};
  Graph network_ = with_weights("resnet20-cifar", 16);
  std::unique_ptr<data::Dataset> training_ = data::open_dataset(kData, data::Split::kTrain);
  std::unique_ptr<data::Dataset> test_ = data::open_dataset(kData, data::Split::kTest);
  TransferHooks hooks_;
};

TEST(TransferNetwork, HasANewHeadAndItsLayersInOrder) {
  const TransferNetwork network = replace_head(with_weights("resnet20-cifar", 4), 7);
  const Graph& graph = network.graph;
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{4, 7}));
  EXPECT_EQ(graph.value(graph.find_value(network.head_weight)).type.shape, (Shape{7, 64}));
  EXPECT_FALSE(graph.find_value("fc.weight").valid() &&
               !graph.value(graph.find_value("fc.weight")).consumers.empty());
  ASSERT_EQ(network.layers.size(), 19U);
  EXPECT_EQ(network.layers[0],
            (std::vector<std::string>{"conv1.weight", "bn1.weight", "bn1.bias"}));
  const Graph features = features_of(network);
  EXPECT_EQ(features.value(features.outputs()[0]).type.shape, (Shape{4, 64}));
}

TEST(TransferNetwork, FreezesFromTheInput) {
  const TransferNetwork network = replace_head(with_weights("resnet20-cifar", 4), 7);
  EXPECT_TRUE(frozen_parameters(network, parse_transfer_mode("finetune")).empty());
  const auto all = frozen_parameters(network, parse_transfer_mode("features"));
  const auto most = frozen_parameters(network, parse_transfer_mode("partial:2"));
  EXPECT_EQ(all.size(), 57U);
  EXPECT_EQ(most.size(), 51U);
  EXPECT_TRUE(std::equal(most.begin(), most.end(), all.begin()));
  EXPECT_NE(message_of([&] {
              frozen_parameters(network, parse_transfer_mode("partial:19"));
            }).find("that is finetune"),
            std::string::npos);
  for (const char* wrong : {"partial", "partial:0", "partial:x", "partial:-1", "fintune", ""}) {
    EXPECT_NE(message_of([&] { parse_transfer_mode(wrong); }), "no error") << wrong;
  }
  const std::string rates = discriminative_rates(network, 0.5);
  EXPECT_NE(rates.find("layer3.2.bn2.bias=0.5"), std::string::npos);
  EXPECT_TRUE(discriminative_rates(network, 1).empty());
}

TEST(TransferNetwork, RefusesWhatHasNoLinearHead) {
  const Graph graph = network::load({.model = "squeezenet1_0"});
  EXPECT_NE(message_of([&] { replace_head(graph, 3); }).find("expected a linear layer"),
            std::string::npos);
}

TEST(TransferNetwork, StepsFitPicturesToTheInput) {
  const auto gray = data::open_dataset("synthetic:1x28x28,classes=2,size=4", data::Split::kTrain);
  EXPECT_EQ(fitting_steps(*gray, {1, 3, 32, 32}), "resize:32x32,channels:3,normalize");
  EXPECT_EQ(fitting_steps(*gray, {1, 1, 28, 28}), "normalize");
}

TEST_F(Transfer, TrainsWhatTheModeSaysAndNothingElse) {
  const TransferResult result = run(small_config({"finetune", "partial:2", "features"}));
  ASSERT_EQ(result.runs.size(), 3U);
  EXPECT_GT(result.runs[0].trained_parameters, result.runs[1].trained_parameters);
  EXPECT_EQ(result.runs[2].trained_parameters, 3 * 64 + 3);
  EXPECT_TRUE(result.runs[2].cached);
  for (const TransferRun& run : result.runs) {
    EXPECT_EQ(run.epochs.size(), 2U) << run.mode;
    EXPECT_FALSE(run.was_there);
    const Graph trained = network::load({.model = run.folder.string(), .batch = 16});
    const auto same = [&](const std::string& name) {
      const Tensor& before = *network_.value(network_.find_value(name)).constant;
      const Tensor& after = *trained.value(trained.find_value(name)).constant;
      return std::equal(before.values<float>().begin(), before.values<float>().end(),
                        after.values<float>().begin());
    };
    EXPECT_EQ(same("conv1.weight"), run.mode != "finetune") << run.mode;
    EXPECT_EQ(same("layer3.2.conv2.weight"), run.mode == "features") << run.mode;
    EXPECT_TRUE(same("bn1.running_mean")) << run.mode;
  }
  EXPECT_GT(result.runs[0].backward_ms, result.runs[1].backward_ms);
}

TEST_F(Transfer, FinishedRunsAreNotRepeated) {
  TransferConfig config = small_config({"features"});
  const TransferResult first = run(config);
  config.rates = {0.01, 0.02};
  const TransferResult second = run(config);
  EXPECT_TRUE(second.runs[0].was_there);
  EXPECT_FALSE(second.runs[1].was_there);
  EXPECT_EQ(second.runs[0].best_top1, first.runs[0].best_top1);
  config.training.epochs = 3;
  EXPECT_NE(message_of([&] { run(config); }).find("another `name`"), std::string::npos);
}

TEST_F(Transfer, CachedFeaturesLearnAsTheFrozenNetworkDoes) {
  TransferConfig config = small_config({"features"});
  config.training.epochs = 1;
  const double cached = run(config).runs[0].epochs[0].train_loss;
  // A step that draws, though it changes nothing, cannot be cached.
  config.training.augment = "flip:0,normalize";
  const TransferResult drawn =
      transfer(config, network_, *training_, *test_, folder_ / "drawn", hooks_);
  EXPECT_FALSE(drawn.runs[0].cached);
  EXPECT_NEAR(drawn.runs[0].epochs[0].train_loss, cached, 0.1);
}

TEST_F(Transfer, FeaturesFollowWeightsDataAndSteps) {
  const Graph graph = features_of(replace_head(network_, 3));
  FeaturesRequest request{.network = &graph, .set = training_.get(), .steps = "normalize"};
  const std::string key = features_key(request);
  EXPECT_EQ(features_key(request), key);
  request.set = test_.get();
  EXPECT_NE(features_key(request), key);
  request.set = training_.get();
  request.steps = "";
  EXPECT_NE(features_key(request), key);
  request.steps = "normalize";
  Graph other = graph;
  Value& value = other.mutable_value(other.find_value("conv1.weight"));
  Tensor changed = value.constant->clone();
  changed.values<float>()[7] += 1;
  value.constant = std::make_shared<const Tensor>(std::move(changed));
  request.network = &other;
  EXPECT_NE(features_key(request), key);
}

// One of many, so that looking at a few pictures does not find it.
TEST_F(Transfer, FeaturesFollowEveryPictureOfAFolder) {
  constexpr int kPictures = 130;
  const auto file = [&](const char* split, int i) {
    return folder_ / "set" / split / "one" / fmt::format("{:03}.png", i);
  };
  const auto draw = [&](const std::filesystem::path& to, uint8_t gray) {
    std::filesystem::create_directories(to.parent_path());
    data::Image image{.height = 4, .width = 4, .pixels = {}};
    image.pixels.assign(4 * 4 * 3, gray);
    write_file(to, data::encode_png(image));
  };
  for (int i = 0; i < kPictures; ++i) draw(file("train", i), 7);
  draw(file("val", 0), 7);
  const auto set = data::open_dataset("folder:" + (folder_ / "set").string(), data::Split::kTrain);
  const Graph graph = features_of(replace_head(network_, 3));
  const FeaturesRequest request{.network = &graph, .set = set.get(), .steps = "normalize"};
  const std::string key = features_key(request);
  draw(file("train", 101), 8);
  EXPECT_NE(features_key(request), key);
}

TEST_F(Transfer, AStoppedStudyGoesOn) {
  int64_t steps = 0;
  hooks_.on_step = [&](const train::StepReport&) { ++steps; };
  hooks_.should_stop = [&] { return steps >= 3; };
  const TransferConfig config = small_config({"finetune"});
  EXPECT_THROW(run(config), Failure);
  hooks_ = {};
  const TransferResult result = run(config);
  EXPECT_EQ(result.runs[0].epochs.size(), 2U);
}

TEST(RateShares, AreSharesOfTheStep) {
  std::string optimizer = "sgd";
  const auto moved = [&](const std::vector<train::RateShare>& shares, const char* name) {
    train::StepOptions options{.threads = 1, .seed = 3};
    options.training.optimizer.kind = optimizer;
    options.training.optimizer.weight_decay = 0.5;
    options.training.optimizer.rate_shares = shares;
    train::TrainingStep step(network::load({.model = "lenet5", .batch = 2}), options);
    for (float& value : step.input(0).values<float>()) value = 0.5F;
    for (int64_t& label : step.input(train::kLabelsInput).values<int64_t>()) label = 1;
    size_t index = 0;
    while (step.states()[index].name != name) ++index;
    const float before = step.state(index).values<float>()[0];
    step.run(0.1);
    return step.state(index).values<float>()[0] - before;
  };
  const float whole = moved({}, "fc3.bias");
  EXPECT_NE(whole, 0);
  EXPECT_NEAR(moved({{"fc", 0.5}}, "fc3.bias"), whole / 2, 1e-6);
  EXPECT_NEAR(moved({{"fc", 0.5}, {"fc3.", 0.25}}, "fc3.bias"), whole / 4, 1e-6);
  EXPECT_NEAR(moved({{"conv", 0.5}}, "fc3.bias"), whole, 1e-6);
  // Weights, unlike biases, do not begin at 0, so they decay in the first step.
  for (const std::string& kind : train::optimizer_names()) {
    optimizer = kind;
    const float all = moved({}, "fc3.weight");
    EXPECT_NE(all, 0) << kind;
    EXPECT_NEAR(moved({{"fc", 0.25}}, "fc3.weight"), all / 4, 1e-6) << kind;
  }
}

TEST(RateShares, AreParsed) {
  EXPECT_EQ(train::parse_rate_shares("a=0.5,b.c=1e-3").size(), 2U);
  for (const char* wrong : {"a", "=1", "a=", "a=x", "a=0", "a=-1", "a=1,", "a=nan", "a=1e9"}) {
    EXPECT_NE(message_of([&] { train::parse_rate_shares(wrong); }), "no error") << wrong;
  }
}

}  // namespace
}  // namespace trainyard::recipes
