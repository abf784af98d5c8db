// What training does not change is saved with what it does.
#include "train/frozen_weights.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "ir/initializer.h"
#include "models/onnx/import.h"
#include "models/zoo/model.h"
#include "runs/safetensors.h"
#include "support/temporary_folder.h"
#include "train/servers/parameter_training.h"
#include "train/trainer.h"

namespace trainyard::train {
namespace {

TrainConfig frozen_config() {
  TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=96";
  config.epochs = 2;
  config.batch = 16;
  config.threads = 1;
  config.seed = 3;
  config.freeze = "conv1,fc2.bias";
  return config;
}

class FrozenRun : public ::testing::Test {
 protected:
  Graph model() const {
    return models::build_model(config.model, {.batch = config.batch, .classes = 4});
  }

  runs::RunDirectory new_directory(const char* name) {
    return runs::RunDirectory::create(folder.path(), name, config.model, "synthetic");
  }

  TrainResult train(const Graph& graph, const runs::RunDirectory& directory,
                    int64_t stop_after = 0) const {
    int64_t steps = 0;
    TrainHooks hooks;
    hooks.should_stop = [&] { return ++steps == stop_after; };
    dist::SingleProcess alone;
    return Trainer(config, graph, *training, *test, alone).run(&directory, hooks);
  }

  // Every weight of the network, and the frozen ones as they were drawn.
  void expect_whole(const std::filesystem::path& path) const {
    SCOPED_TRACE(path);
    const runs::SafetensorsFile file(path);
    const Graph graph = model();
    for (const ValueId id : graph.initializers()) {
      const Value& value = graph.value(id);
      if (value.constant != nullptr) continue;
      ASSERT_NE(file.find(value.name), nullptr) << value.name;
      const bool frozen = value.name.starts_with("conv1") || value.name == "fc2.bias";
      EXPECT_EQ(same(file.tensor(value.name), value), frozen) << value.name;
    }
  }

  bool same(const Tensor& found, const Value& value) const {
    const auto drawn = initializer_data(value, static_cast<uint64_t>(config.seed));
    return std::ranges::equal(found.values<float>(), drawn->values<float>());
  }

  TrainConfig config = frozen_config();
  TemporaryFolder folder{"frozen"};
  std::unique_ptr<data::Dataset> training = data::open_dataset(config.data, data::Split::kTrain);
  std::unique_ptr<data::Dataset> test = data::open_dataset(config.data, data::Split::kTest);
};

TEST_F(FrozenRun, SavesTheFrozenWeightsToo) {
  const runs::RunDirectory directory = new_directory("a");
  train(model(), directory);
  expect_whole(directory.path() / "model.safetensors");
  expect_whole(directory.checkpoints() / "latest.safetensors");
  expect_whole(directory.checkpoints() / "best.safetensors");
  const Graph exported = onnx_io::import_model(directory.path() / "model.onnx");
  const Graph graph = model();
  const Value& weight = graph.value(graph.find_value("conv1.weight"));
  const Value& written = exported.value(exported.find_value("conv1.weight"));
  EXPECT_TRUE(same(*written.constant, weight));
}

TEST_F(FrozenRun, GoesOnBitByBit) {
  const runs::RunDirectory whole = new_directory("whole");
  train(model(), whole);
  {
    const runs::RunDirectory parts = new_directory("parts");
    write_file(parts.config(), settings_of(config).to_yaml());
    train(model(), parts, 4);
  }
  const auto parts = runs::RunDirectory::resume(folder.path(), "parts");
  train(model(), parts);
  EXPECT_EQ(read_file(whole.path() / "model.safetensors"),
            read_file(parts.path() / "model.safetensors"));
}

TEST_F(FrozenRun, DoesNotGoOnWithOtherFrozenWeights) {
  const runs::RunDirectory directory = new_directory("a");
  train(model(), directory, 4);
  Graph other = model();
  Value& weight = other.mutable_value(other.find_value("conv1.weight"));
  weight.constant = initializer_data(weight, 99);
  try {
    train(other, directory);
    ADD_FAILURE() << "went on";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("'conv1.weight' is frozen and differs"),
              std::string_view::npos)
        << error.what();
  }
}

TEST_F(FrozenRun, ParameterServersSaveThemToo) {
  config.workers = 1;
  config.servers = 1;
  const runs::RunDirectory directory = new_directory("a");
  const Graph graph = model();
  dist::run_in_threads({.ranks = 2}, [&](dist::Communicator& comm) {
    train_with_servers(comm, config, graph, *training, *test,
                       comm.rank() == 0 ? &directory : nullptr, {});
  });
  expect_whole(directory.path() / "model.safetensors");
  expect_whole(directory.checkpoints() / "latest.safetensors");
}

}  // namespace
}  // namespace trainyard::train
