// Training through libtorch: the same course as our engine's, the same states, the same bits again.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "detect/multibox.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "engine/bench.h"
#include "engine/device/device_list.h"
#include "engine/host_nodes.h"
#include "models/zoo/model.h"
#include "support/temporary_folder.h"
#include "train/trainer.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

constexpr int kSteps = 20;
constexpr int64_t kClasses = 4;
constexpr double kLossTolerance = 1e-3;  // relative

// Rates are small where a network has many normalizations over few pictures: large steps there make
// more of the last bits, in which the engines differ, than 20 of them may. So they do where Lion
// takes the signs of sums that are nearly 0.
struct Course {
  const char* model;
  int64_t batch;
  const char* optimizer;
  double rate = 0;
  double clip_norm = 0;
  bool averages = false;
  models::ModelOptions network = {};
  int64_t accumulate = 1;
  double share = 1;
};

constexpr int64_t kVocabulary = 40;
// Texts of a few letters, of which one opens a document.
constexpr models::ModelOptions tiny_transformer(int64_t kv_heads, int64_t end_of_text = -1) {
  return {
      .length = 24,
      .vocabulary = kVocabulary,
      .end_of_text = end_of_text,
      .sizes = {.layers = 2, .hidden = 32, .heads = 4, .kv_heads = kv_heads, .inner = 48},
  };
}

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
  options.training.optimizer.report_norm = true;
  options.training.average = course.averages;
  options.training.accumulate = course.accumulate;
  options.training.share = course.share;
  models::ModelOptions network = course.network;
  network.batch = course.batch;
  if (models::find_model(course.model)->classes > 0) network.classes = kClasses;
  Graph model = models::build_model(course.model, network);
  if (model.value(model.outputs()[0]).type.shape.rank() == 3) {
    options.training.objective = make_objective(kNextToken);
  }
  return {model, options};
}

void fill_below(Tensor& tensor, uint64_t seed, uint64_t bound) {
  const RandomStream random(seed);
  for (size_t i = 0; i < tensor.values<int64_t>().size(); ++i) {
    tensor.values<int64_t>()[i] = static_cast<int64_t>(random.below(i, bound));
  }
}

// Images or tokens, and labels, that depend on the step alone.
void fill_batch(TrainingStep& step, int number) {
  const auto seed = static_cast<uint64_t>(number);
  if (step.input(0).dtype() == DType::kI64) {
    fill_below(step.input(0), seed + 1000, kVocabulary);
  } else {
    runtime::fill_random(step.input(0), seed);
  }
  fill_below(step.input("labels"), seed, kClasses);
}

std::vector<double> run_steps(TrainingStep& step, double rate, int begin, int end) {
  std::vector<double> losses;
  for (int i = begin; i < end; ++i) {
    fill_batch(step, i);
    step.set_average_share(0.5);
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
  // Copies of gradients to the host and back would cost a GPU more than the step.
  EXPECT_EQ(runtime::host_nodes_text(theirs.executable()), "");
  const double rate = GetParam().rate;
  expect_near(run_steps(theirs, rate, 0, kSteps), run_steps(ours, rate, 0, kSteps));
  EXPECT_NEAR(theirs.gradient_norm(), ours.gradient_norm(), 1e-2 * ours.gradient_norm());
}

INSTANTIATE_TEST_SUITE_P(
    Courses, TorchTraining,
    testing::Values(Course{"lenet5", 8, "sgd", 0.02}, Course{"lenet5", 8, "adamw", 2e-3, 0.5},
                    Course{"resnet20-cifar", 8, "sgd", 1e-3}, Course{"mlp", 8, "adam", 2e-3},
                    Course{"mlp", 8, "rmsprop", 2e-3}, Course{"mlp", 8, "adagrad", 2e-3},
                    Course{"mlp", 8, "lars", 0.02}, Course{"mlp", 8, "lion", 1e-4},
                    Course{"mlp", 8, "lamb", 0.02, 0, true}, Course{"mlp", 8, "adafactor", 0.02},
                    Course{"gpt-nano", 2, "adamw", 1e-3, 1, false, tiny_transformer(4, 0)},
                    Course{"llama", 2, "adamw", 1e-3, 1, false, tiny_transformer(2, 0)},
                    Course{"bert-tiny", 4, "adamw", 1e-3, 0, false, tiny_transformer(4)}),
    [](const testing::TestParamInfo<Course>& course) {
      std::string name = fmt::format("{}_{}", course.param.model, course.param.optimizer);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// Locations and scores of a small detector: its loss mines the hardest background. Scores of random
// weights hardly differ, so the last bits decide what is mined, and larger steps would soon show
// it.
TEST(TorchDetector, HasTheLossesOfOurEngine) {
  constexpr double kTinyRate = 2e-8;
  const auto make = [](std::shared_ptr<device::Device> device) {
    StepOptions options;
    options.threads = 1;
    options.device = std::move(device);
    options.training.objective = detect::add_multibox_loss;
    options.training.optimizer.report_norm = true;
    return TrainingStep(models::build_model("ssd300-mobilenet_v1-lite",
                                            {.batch = 4, .classes = kClasses, .image = 96}),
                        options);
  };
  const auto losses_of = [](TrainingStep& step) {
    std::vector<double> losses;
    for (int i = 0; i < kSteps; ++i) {
      const auto seed = static_cast<uint64_t>(i);
      runtime::fill_random(step.input(0), seed);
      runtime::fill_random(step.input(detect::kPriorOffsetsInput), seed + 1);
      // Few priors answer for an object.
      Tensor& labels = step.input(detect::kPriorLabelsInput);
      fill_below(labels, seed, 400);
      for (int64_t& label : labels.values<int64_t>()) label = label < kClasses ? label : 0;
      step.run(kTinyRate);
      losses.push_back(step.loss());
    }
    return losses;
  };
  TrainingStep theirs = make(torch_device());
  EXPECT_EQ(runtime::host_nodes_text(theirs.executable()), "");
  TrainingStep ours = make(nullptr);
  expect_near(losses_of(theirs), losses_of(ours));
  EXPECT_NEAR(theirs.gradient_norm(), ours.gradient_norm(), 1e-2 * ours.gradient_norm());
}

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

// Factors in f16, and the loss times a number that follows the gradients.
TEST(TorchPrecisions, TrainInF16WithAScaledLoss) {
  constexpr Course kGpt = {"gpt-nano", 2, "adamw", 1e-3, 1, false, tiny_transformer(4, 0)};
  constexpr Course kLenet = {"lenet5", 8, "sgd", 0.02};
  for (const Course& course : {kGpt, kLenet}) {
    SCOPED_TRACE(course.model);
    TrainingStep full = make_step(course, torch_device());
    TrainingStep rounded = make_step(course, device::open_device("torch:cpu,f16"));
    EXPECT_EQ(full.loss_scale(), std::nullopt);
    const std::vector<double> expected = run_steps(full, course.rate, 0, kSteps);
    const std::vector<double> found = run_steps(rounded, course.rate, 0, kSteps);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.02) << i;
    EXPECT_NE(found, expected);
    EXPECT_NEAR(rounded.gradient_norm(), full.gradient_norm(), 0.1 * full.gradient_norm());
  }
}

// A step whose gradients overflow leaves everything as it is, but the factor.
TEST(TorchPrecisions, LeaveOutUpdatesThatOverflow) {
  constexpr Course kMlp = {"mlp", 8, "adamw", 1e-3};
  TrainingStep step = make_step(kMlp, device::open_device("torch:cpu,f16"));
  run_steps(step, kMlp.rate, 0, 1);
  EXPECT_EQ(step.updates(), 1);
  TrainingStep before = make_step(kMlp, device::open_device("torch:cpu,f16"));
  copy_states(step, before);
  constexpr double kFarTooLarge = 1e9;
  step.set_loss_scale({.factor = kFarTooLarge, .updates = 7});
  run_steps(step, kMlp.rate, 1, 2);
  EXPECT_EQ(step.steps(), 2);
  EXPECT_EQ(step.updates(), 1);
  EXPECT_EQ(step.loss_scale()->factor, kFarTooLarge / 2);
  EXPECT_EQ(step.loss_scale()->updates, 0);
  EXPECT_TRUE(same_bits(step, before));
  // It finds its way back.
  run_steps(step, kMlp.rate, 2, 30);
  EXPECT_GT(step.updates(), 5);
  EXPECT_LT(step.loss_scale()->factor, 1e7);
}

// Gradients below the smallest number of f16 are lost without a factor.
TEST(TorchPrecisions, ScaleWhatWouldVanish) {
  constexpr Course kSmall = {.model = "mlp", .batch = 8, .optimizer = "sgd", .share = 1e-7};
  const auto norm = [&](const char* device, double factor) {
    TrainingStep step = make_step(kSmall, device::open_device(device));
    step.set_loss_scale({.factor = factor});
    run_steps(step, 0, 0, 1);
    return step.gradient_norm();
  };
  const double expected = norm("torch:cpu", 1);
  EXPECT_LT(norm("torch:cpu,f16", 1), 0.5 * expected);
  EXPECT_NEAR(norm("torch:cpu,f16", 65536), expected, 0.05 * expected);
}

constexpr Course kCourse = {"resnet20-cifar", 4, "sgd", 1e-3};

// What a run of forward and backward alone leaves behind is of that run.
TEST(TorchTraining, ReadsTheLossOfEachOfTheRunsThatAreAddedUp) {
  const auto losses_on = [](std::shared_ptr<device::Device> device) {
    TrainingStep step = make_step(
        {.model = "lenet5", .batch = 8, .optimizer = "sgd", .rate = 0.02, .accumulate = 3},
        std::move(device));
    return run_steps(step, 0.02, 0, 7);
  };
  expect_near(losses_on(torch_device()), losses_on(nullptr));
}

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
