// The memory that analysis predicts for training, against what a compiled step takes.
#include "analysis/memory.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "models/zoo/model.h"
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

}  // namespace
}  // namespace trainyard::train
