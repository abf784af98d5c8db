// Whole runs on synthetic data: they learn, leave their files, and go on bit by bit.
#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "dist/single.h"
#include "models/zoo/model.h"
#include "runs/metrics.h"
#include "runs/recordings/event_reader.h"
#include "runs/recordings/event_recording.h"
#include "runs/safetensors.h"
#include "runs/test_predictions.h"
#include "support/temporary_folder.h"

namespace trainyard::train {
namespace {

namespace fs = std::filesystem;

TrainConfig small_config() {
  TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=96";
  config.augment = "crop:2,flip,normalize";
  config.epochs = 3;
  config.batch = 16;
  config.threads = 2;
  return config;
}

TrainResult run(const TrainConfig& config, const runs::RunDirectory& directory,
                int64_t stop_after = 0) {
  const auto training = data::open_dataset(config.data, data::Split::kTrain);
  const auto test = data::open_dataset(config.data, data::Split::kTest);
  const Graph model = models::build_model(config.model, {.batch = config.batch, .classes = 4});
  int64_t steps = 0;
  TrainHooks hooks;
  hooks.should_stop = [&] { return ++steps == stop_after; };
  dist::SingleProcess alone;
  return Trainer(config, model, *training, *test, alone).run(&directory, hooks);
}

std::string weights(const fs::path& folder) {
  return read_file(folder / "model.safetensors");
}

TEST(Trainer, LearnsAndLeavesItsFiles) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  const TrainConfig config = small_config();
  const TrainResult result = run(config, directory);
  ASSERT_EQ(result.epochs.size(), 3U);
  EXPECT_EQ(result.steps, 3 * 6);
  EXPECT_LT(result.epochs.back().train_loss, result.epochs.front().train_loss);
  EXPECT_FALSE(result.interrupted);
  for (const char* file : {"model.onnx", "model.safetensors", "metrics.jsonl"}) {
    EXPECT_TRUE(fs::exists(directory.path() / file)) << file;
  }
  const std::vector<Json> lines = runs::read_metrics(directory.metrics());
  EXPECT_EQ(lines.size(), 3U * 6 + 3);
  int64_t tested = 0;
  for (const int64_t count : result.epochs.back().test.confusion) tested += count;
  EXPECT_EQ(tested, result.epochs.back().test.images);
}

TEST(Trainer, RecordsWhatItTookEachSampleFor) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  const TrainConfig config = small_config();
  const Evaluation test = run(config, directory).epochs.back().test;
  const runs::TestPredictions guesses = runs::read_test_predictions(directory.path());
  EXPECT_EQ(guesses.step, 3 * 6);
  ASSERT_EQ(static_cast<int64_t>(guesses.all.size()), test.images);
  std::vector<int64_t> confusion(test.confusion.size(), 0);
  const auto set = data::open_dataset(config.data, data::Split::kTest);
  for (size_t i = 0; i < guesses.all.size(); ++i) {
    const runs::SamplePrediction& one = guesses.all[i];
    EXPECT_EQ(one.sample, static_cast<int64_t>(i));
    EXPECT_EQ(one.truth, set->label(one.sample));
    ++confusion[static_cast<size_t>(one.truth * test.classes + one.guess)];
  }
  EXPECT_EQ(confusion, test.confusion);
}

// The switch changes what is written, not what is learned.
TEST(Trainer, WritesHistogramsOfStatesActivationsAndGradients) {
  const TemporaryFolder folder("trainer");
  const auto plain = runs::RunDirectory::create(folder.path(), "plain", "lenet5", "synthetic");
  TrainConfig config = small_config();
  run(config, plain);
  config.histograms = true;
  const auto seen = runs::RunDirectory::create(folder.path(), "seen", "lenet5", "synthetic");
  run(config, seen);
  EXPECT_EQ(weights(seen.path()), weights(plain.path()));
  std::map<std::string, std::vector<int64_t>> steps;
  for (const std::string& file : runs::event_files(seen.path())) {
    runs::read_events(seen.path() / file, 0, INT64_MAX,
                      {.histogram = [&](int64_t step, std::string_view tag, Bytes bytes) {
                        steps[std::string(tag)].push_back(step);
                        const runs::EventHistogram histogram = runs::parse_histogram(bytes);
                        EXPECT_LE(histogram.low, histogram.high) << tag;
                      }});
  }
  int64_t parameters = 0;
  int64_t activations = 0;
  for (const auto& [tag, at] : steps) {
    EXPECT_EQ(at, (std::vector<int64_t>{6, 12, 18})) << tag;
    activations += tag.starts_with("activation/") ? 1 : 0;
    if (!tag.starts_with("state/") || tag.starts_with("state/optimizer.")) continue;
    ++parameters;
    EXPECT_TRUE(steps.contains("gradient/" + tag.substr(6))) << tag;
  }
  EXPECT_EQ(parameters, 10);
  EXPECT_GE(activations, 5);
}

TEST(Trainer, StoppedAnywhereItGoesOnBitByBit) {
  const TemporaryFolder folder("trainer");
  TrainConfig config = small_config();
  config.accumulate = 2;
  const auto whole = runs::RunDirectory::create(folder.path(), "whole", "lenet5", "synthetic");
  run(config, whole);
  // In the middle of an epoch, between the parts of an update, and at the end of an epoch.
  for (const int64_t stop_after : {2, 5, 6}) {
    const std::string name = "parts" + std::to_string(stop_after);
    {
      const auto parts = runs::RunDirectory::create(folder.path(), name, "lenet5", "synthetic");
      write_file(parts.config(), settings_of(config).to_yaml());
      run(config, parts, stop_after);
    }
    const auto parts = runs::RunDirectory::resume(folder.path(), name);
    run(config, parts);
    EXPECT_EQ(weights(whole.path()), weights(parts.path())) << "stopped after " << stop_after;
    EXPECT_EQ(runs::read_metrics(parts.metrics()).size(),
              runs::read_metrics(whole.metrics()).size());
  }
}

// Kept as states of the step, so that a run that is stopped goes on with the same averages.
TEST(Trainer, AveragesOfWeightsAreTestedExportedAndResumed) {
  const TemporaryFolder folder("trainer");
  TrainConfig config = small_config();
  const auto directory_of = [&](const std::string& name) {
    return runs::RunDirectory::create(folder.path(), name, "lenet5", "synthetic");
  };
  const auto plain = directory_of("plain");
  const TrainResult without = run(config, plain);
  config.ema = 0.9;
  const auto whole = directory_of("whole");
  const TrainResult with = run(config, whole);
  // The weights themselves go the same way.
  EXPECT_EQ(with.epochs.back().train_loss, without.epochs.back().train_loss);
  EXPECT_NE(with.epochs[0].test.score("loss"), without.epochs[0].test.score("loss"));
  EXPECT_NE(weights(whole.path()), weights(plain.path()));
  const auto parts = directory_of("parts");
  run(config, parts, 8);
  run(config, parts);
  EXPECT_EQ(weights(parts.path()), weights(whole.path()));
  // Of one update, the mean is the weights themselves.
  config.ema = 0;
  config.swa = 3;
  config.max_steps = 13;
  const auto one = directory_of("one");
  run(config, one);
  config.swa = 0;
  const auto last = directory_of("last");
  run(config, last);
  EXPECT_EQ(weights(one.path()), weights(last.path()));
}

TEST(Trainer, ClipsByValueAndLogsTheNorm) {
  const TemporaryFolder folder("trainer");
  TrainConfig config = small_config();
  config.max_steps = 1;
  config.optimizer = "sgd";
  config.momentum = 0;
  config.clip_value = 1e-3;
  config.learning_rate = 1;
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  run(config, directory);
  const Json line = runs::read_metrics(directory.metrics())[0];
  EXPECT_GT(line.at("gradient_norm").as_number(), 1e-3);
  // No weight moved by more than the limit: a second run ends where the first did not get to.
  config.clip_value = 0;
  config.clip_norm = 1e-6;
  const auto still = runs::RunDirectory::create(folder.path(), "b", "lenet5", "synthetic");
  run(config, still);
  EXPECT_EQ(runs::read_metrics(still.metrics())[0].at("gradient_norm").as_number(),
            line.at("gradient_norm").as_number())
      << "the norm is that before clipping";
  const runs::SafetensorsFile moved(directory.path() / "model.safetensors");
  const runs::SafetensorsFile start(still.path() / "model.safetensors");
  double most = 0;
  for (const runs::StoredTensor& entry : moved.tensors()) {
    const Tensor a = moved.tensor(entry.name);
    const Tensor b = start.tensor(entry.name);
    for (size_t i = 0; i < a.values<float>().size(); ++i) {
      most = std::max(most, std::abs(double{a.values<float>()[i]} - double{b.values<float>()[i]}));
    }
  }
  EXPECT_NEAR(most, 1e-3, 1e-5);
}

TEST(Trainer, StopsAtTheTarget) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  TrainConfig config = small_config();
  config.target_accuracy = 0.01;
  const TrainResult result = run(config, directory);
  EXPECT_EQ(result.epochs.size(), 1U);
  EXPECT_TRUE(result.seconds_to_target.has_value());
}

TEST(Trainer, AnotherConfigurationDoesNotGoOn) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  TrainConfig config = small_config();
  run(config, directory, 3);
  config.learning_rate = 0.01;
  EXPECT_THROW(run(config, directory), Error);
}

TEST(Trainer, LossThatIsNotFiniteNamesStepAndTensor) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  TrainConfig config = small_config();
  config.learning_rate = 3e38;
  try {
    run(config, directory);
    FAIL() << "went on";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("step "), std::string::npos) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("not finite"), std::string::npos) << failure.what();
  }
}

TEST(Trainer, PicturesOfAnotherSizeAreRefused) {
  const TemporaryFolder folder("trainer");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  TrainConfig config = small_config();
  config.data = "synthetic:3x28x28,classes=4,size=96";
  EXPECT_THROW(run(config, directory), Error);
}

}  // namespace
}  // namespace trainyard::train
