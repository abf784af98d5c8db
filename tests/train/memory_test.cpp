// The memory that analysis predicts for training, against what a compiled step takes.
#include "analysis/memory.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "models/zoo/model.h"
#include "train/objective.h"
#include "train/step_memory.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

TEST(TrainingMemory, AnalysisAgreesWithTheCompiledStep) {
  // Padding of channels to blocks, scratch memory of kernels and gaps in the arena are what
  // analysis does not see.
  constexpr double kTolerance = 0.05;
  const std::pair<const char*, int64_t> cases[] = {
      {"resnet18-cifar", 32}, {"resnet20-cifar", 64}, {"mobilenet_v2", 4}, {"resnet50", 4},
      {"googlenet", 8},       {"squeezenet1_0", 8},   {"densenet121", 16}, {"vgg16", 8}};
  for (const auto& [name, batch] : cases) {
    const Graph model = models::build_model(name, {.batch = batch});
    const double predicted = static_cast<double>(
        analysis::analyze_memory(model).training_here_total(analysis::Optimizer::kMomentum));
    const TrainingStep step(model, {.threads = 2});
    const auto measured =
        static_cast<double>(step.executable().arena_bytes() + step.executable().state_bytes());
    EXPECT_NEAR(predicted / measured, 1.0, kTolerance) << name;
  }
}

TEST(TrainingMemory, RecomputingBlocksSavesMemoryAndKeepsTheBits) {
  const Graph model = models::build_model("resnet18-cifar", {.batch = 8});
  StepOptions options{.threads = 2};
  TrainingStep plain(model, options);
  for (const char* block : {"layer1.0.", "layer1.1.", "layer2.0.", "layer2.1."}) {
    options.training.recompute.emplace_back(block);
  }
  TrainingStep again(model, options);
  EXPECT_LT(again.executable().arena_bytes(), plain.executable().arena_bytes() * 17 / 20);
  for (TrainingStep* step : {&plain, &again}) {
    runtime::fill_random(step->input(0), 3);
    for (int i = 0; i < 2; ++i) step->run(0.1);
  }
  for (size_t i = 0; i < plain.states().size(); ++i) {
    const Tensor a = plain.state(i);
    const Tensor b = again.state(i);
    ASSERT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.num_bytes())), 0)
        << plain.states()[i].name;
  }
  options.training.recompute = {"layer9."};
  EXPECT_THROW(TrainingStep(model, options), Error);
}

// Bits of all states after two steps on the same input.
std::vector<Tensor> trained_states(const Graph& model, const StepOptions& options) {
  TrainingStep step(model, options);
  runtime::fill_random(step.input(0), 3);
  for (int i = 0; i < 2; ++i) step.run(0.1);
  std::vector<Tensor> states;
  for (size_t i = 0; i < step.states().size(); ++i) states.push_back(step.state(i));
  return states;
}

void expect_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].num_bytes())), 0) << i;
  }
}

Graph small_gpt() {
  return models::build_model("gpt-nano", {.batch = 8,
                                          .length = 64,
                                          .vocabulary = 64,
                                          .sizes = {.layers = 6, .hidden = 64, .heads = 4}});
}

// Dropout draws the same masks again.
TEST(TrainingMemory, ALimitRecomputesUntilTheStepFitsAndKeepsTheBits) {
  const std::pair<Graph, const char*> cases[] = {
      {small_gpt(), kNextToken},
      {models::build_model("mobilenet_v2", {.batch = 4, .classes = 10, .image = 96}),
       "cross-entropy"},
      {models::build_model("resnet20-cifar", {.batch = 16}), "cross-entropy"}};
  for (const auto& [model, loss] : cases) {
    StepOptions plain{.threads = 2};
    plain.training.objective = make_objective(loss);
    StepOptions options = plain;
    const MemoryFit unlimited = fit_memory(model, INT64_MAX, 1, options);
    EXPECT_EQ(unlimited.again.blocks, 0U);
    const int64_t fixed = unlimited.kept.total() - unlimited.kept.values;
    const int64_t limit = fixed + unlimited.kept.values * 3 / 4;
    const MemoryFit fit = fit_memory(model, limit, 1, options);
    EXPECT_GT(fit.again.blocks, 0U) << loss;
    EXPECT_GT(fit.more_flops, 0) << loss;
    EXPECT_LT(fit.more_flops, 1.0 / 3) << loss;
    EXPECT_LE(memory_of(TrainingStep(model, options).executable(), 1).total(), limit);
    expect_same_bits(trained_states(model, plain), trained_states(model, options));
  }
}

TEST(TrainingMemory, ALimitThatCannotBeMetNamesTheLeastThatCan) {
  const Graph model = small_gpt();
  StepOptions options{.threads = 2};
  options.training.objective = make_objective(kNextToken);
  std::string message;
  try {
    fit_memory(model, 1 << 20, 1, options);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("a step takes"), std::string::npos) << message;
  EXPECT_NE(message.find("and the limit is 1.00 MiB"), std::string::npos) << message;
}

}  // namespace
}  // namespace trainyard::train
