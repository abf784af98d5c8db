// Training through libtorch: the same course as our engine's, the same states, the same bits again.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "engine/bench.h"
#include "engine/device/device_list.h"
#include "models/zoo/model.h"
#include "support/temporary_folder.h"
#include "train/trainer.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

constexpr int kSteps = 20;
constexpr double kLossTolerance = 1e-3;  // relative

// Rates are small where a network has many normalizations over few pictures: large steps there make
// more of the last bits, in which the engines differ, than 20 of them may.
struct Course {
  const char* model;
  int64_t batch;
  const char* optimizer;
  double rate;
  double clip_norm = 0;
};

std::shared_ptr<device::Device> torch_device() {
  return device::open_device("torch:cpu");
}

TrainingStep make_step(const Course& course, std::shared_ptr<device::Device> device) {
  StepOptions options;
  options.threads = 1;
  options.device = std::move(device);
  options.training.optimizer.kind = course.optimizer;
  options.training.optimizer.momentum = 0.9;
  options.training.optimizer.weight_decay = 1e-4;
  options.training.optimizer.clip_norm = course.clip_norm;
  return {models::build_model(course.model, {.batch = course.batch, .classes = 4}), options};
}

// Pictures and labels that depend on the step alone.
void fill_batch(TrainingStep& step, int number) {
  runtime::fill_random(step.input(0), static_cast<uint64_t>(number));
  Tensor& labels = step.input("labels");
  const RandomStream random(static_cast<uint64_t>(number));
  for (size_t i = 0; i < labels.values<int64_t>().size(); ++i) {
    labels.values<int64_t>()[i] = static_cast<int64_t>(random.below(i, 4));
  }
}

std::vector<double> run_steps(TrainingStep& step, double rate, int begin, int end) {
  std::vector<double> losses;
  for (int i = begin; i < end; ++i) {
    fill_batch(step, i);
    step.run(rate);
    losses.push_back(step.loss());
  }
  return losses;
}

void copy_states(const TrainingStep& from, TrainingStep& to) {
  for (size_t i = 0; i < from.states().size(); ++i) to.set_state(i, from.state(i));
  to.set_progress(from.steps(), from.updates());
}

bool same_bits(const TrainingStep& a, const TrainingStep& b) {
  for (size_t i = 0; i < a.states().size(); ++i) {
    const Tensor x = a.state(i);
    const Tensor y = b.state(i);
    if (std::memcmp(x.data(), y.data(), static_cast<size_t>(x.num_bytes())) != 0) return false;
  }
  return true;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kLossTolerance * std::abs(expected[i])) << "step " << i;
  }
}

class TorchTraining : public testing::TestWithParam<Course> {};

TEST_P(TorchTraining, HasTheLossesOfOurEngine) {
  TrainingStep ours = make_step(GetParam(), nullptr);
  TrainingStep theirs = make_step(GetParam(), torch_device());
  const double rate = GetParam().rate;
  expect_near(run_steps(theirs, rate, 0, kSteps), run_steps(ours, rate, 0, kSteps));
}

INSTANTIATE_TEST_SUITE_P(
    Courses, TorchTraining,
    testing::Values(Course{"lenet5", 8, "sgd", 0.02}, Course{"lenet5", 8, "adamw", 2e-3, 0.5},
                    Course{"resnet20-cifar", 8, "sgd", 1e-3}, Course{"mlp", 8, "adam", 2e-3},
                    Course{"mlp", 8, "rmsprop", 2e-3}, Course{"mlp", 8, "adagrad", 2e-3},
                    Course{"mlp", 8, "lars", 0.02}));

// Products in bf16, everything else in f32.
TEST(TorchPrecisions, TrainNearlyAsWell) {
  constexpr Course kLenet = {"lenet5", 8, "sgd", 0.02};
  TrainingStep full = make_step(kLenet, torch_device());
  TrainingStep rounded = make_step(kLenet, device::open_device("torch:cpu,bf16"));
  const std::vector<double> expected = run_steps(full, kLenet.rate, 0, kSteps);
  const std::vector<double> found = run_steps(rounded, kLenet.rate, 0, kSteps);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.05) << i;
  EXPECT_NE(found, expected);
}

constexpr Course kCourse = {"resnet20-cifar", 4, "sgd", 1e-3};

// A run moves from one engine to the other and back with its states alone.
TEST(TorchCheckpoint, StartsOnOneEngineAndEndsOnTheOther) {
  TrainingStep alone = make_step(kCourse, nullptr);
  const std::vector<double> expected = run_steps(alone, kCourse.rate, 0, 12);
  TrainingStep first = make_step(kCourse, nullptr);
  std::vector<double> losses = run_steps(first, kCourse.rate, 0, 4);
  TrainingStep second = make_step(kCourse, torch_device());
  copy_states(first, second);
  for (const double loss : run_steps(second, kCourse.rate, 4, 8)) losses.push_back(loss);
  copy_states(second, first);
  for (const double loss : run_steps(first, kCourse.rate, 8, 12)) losses.push_back(loss);
  expect_near(losses, expected);
}

TEST(TorchCheckpoint, ResumesToTheBit) {
  TrainingStep whole = make_step(kCourse, torch_device());
  run_steps(whole, kCourse.rate, 0, 8);
  TrainingStep before = make_step(kCourse, torch_device());
  run_steps(before, kCourse.rate, 0, 5);
  TrainingStep after = make_step(kCourse, torch_device());
  copy_states(before, after);
  EXPECT_FALSE(same_bits(whole, after));
  run_steps(after, kCourse.rate, 5, 8);
  EXPECT_TRUE(same_bits(whole, after));
}

// Gradients go through the host's memory and our exchange.
std::vector<double> epoch_losses(int64_t workers) {
  TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=96";
  config.device = "torch:cpu";
  config.epochs = 2;
  config.batch = 24;
  config.threads = 1;
  config.workers = workers;
  config.stall_warning = 0;
  config.wait_limit = 60;
  const TemporaryFolder folder("torch_workers");
  const auto directory = runs::RunDirectory::create(folder.path(), "run", "lenet5", "synthetic");
  std::vector<double> losses;
  dist::run_in_threads({.ranks = workers}, [&](dist::Communicator& comm) {
    const auto training = data::open_dataset(config.data, data::Split::kTrain);
    const auto test = data::open_dataset(config.data, data::Split::kTest);
    const Graph model = models::build_model(
        config.model,
        {.batch = data::share_of(config.batch, comm.rank(), comm.size()), .classes = 4});
    TrainResult result = Trainer(config, model, *training, *test, comm)
                             .run(comm.rank() == 0 ? &directory : nullptr, {});
    if (comm.rank() != 0) return;
    for (const EpochReport& epoch : result.epochs) losses.push_back(epoch.test.score("loss"));
  });
  return losses;
}

TEST(TorchWorkers, TwoGiveWhatOneGives) {
  expect_near(epoch_losses(2), epoch_losses(1));
}

}  // namespace
}  // namespace trainyard::train
