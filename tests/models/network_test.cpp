#include "models/network.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ir/initializer.h"
#include "models/onnx/export.h"
#include "runs/safetensors.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::network {
namespace {

namespace fs = std::filesystem;

// Every parameter of LeNet-5, filled with `value`; the last `dropped` are left out.
void write_weights(const fs::path& path, double value, size_t dropped = 0) {
  const Graph graph = load({.model = "lenet5"});
  std::vector<runs::NamedType> types;
  for (const ValueId id : graph.initializers()) {
    types.push_back({graph.value(id).name, graph.value(id).type});
  }
  types.resize(types.size() - dropped);
  runs::SafetensorsWriter writer(path, types, {});
  for (const runs::NamedType& type : types) {
    Tensor tensor(type.type);
    fill_by_rule(init_constant(value), 1, type.name, tensor);
    writer.write(tensor);
  }
  writer.commit();
}

TEST(Network, ZooIsRandomUntilWeightsAreLoaded) {
  const TemporaryFolder folder("network");
  write_weights(folder / "w.safetensors", 0.5);
  EXPECT_TRUE(has_random_weights(load({.model = "lenet5"})));
  const Graph graph = load({.model = "lenet5", .weights = (folder / "w.safetensors").string()});
  EXPECT_FALSE(has_random_weights(graph));
  for (const ValueId id : graph.initializers()) {
    EXPECT_EQ(element_as_double(*graph.value(id).constant, 0), 0.5);
  }
}

TEST(Network, RunDirectoryStandsForItsModel) {
  const TemporaryFolder folder("network");
  fs::create_directories(folder / "run");
  onnx_io::export_model(load({.model = "lenet5"}), folder / "run" / "model.onnx", {});
  const std::string path = (folder / "run").string();
  EXPECT_FALSE(has_random_weights(load({.model = path})));
  EXPECT_EQ(label(path), "run");
  EXPECT_EQ(label(path + "/"), "run");
  EXPECT_EQ(label((folder / "run" / "model.onnx").string()), "model.onnx");
  EXPECT_EQ(label("lenet5"), "lenet5");
}

TEST(Network, RunWithoutModelIsRefused) {
  const TemporaryFolder folder("network");
  fs::create_directories(folder / "run");
  const std::string path = (folder / "run").string();
  EXPECT_NE(message_of([&] { load({.model = path}); }).find("no run directory"), std::string::npos);
  write_weights(folder / "run" / "config.yaml", 0);
  EXPECT_NE(message_of([&] { load({.model = path}); }).find("no model.onnx yet"),
            std::string::npos);
}

TEST(Network, WeightsThatDoNotFitAreListed) {
  const TemporaryFolder folder("network");
  const std::string path = (folder / "w.safetensors").string();
  write_weights(path, 0, /*dropped=*/1);
  EXPECT_NE(message_of([&] { load({.model = "lenet5", .weights = path}); }).find("is missing"),
            std::string::npos);
  write_weights(path, 0);
  const std::string other =
      message_of([&] { load({.model = "lenet5", .weights = path, .classes = 7}); });
  EXPECT_NE(other.find("expected"), std::string::npos) << other;
  EXPECT_NE(message_of([&] { load({.model = "alexnet", .weights = path}); }).find("and "),
            std::string::npos);
}

TEST(Network, EmptyNameIsRefused) {
  EXPECT_NE(message_of([] { load({.model = ""}); }).find("MODEL is empty"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::network
