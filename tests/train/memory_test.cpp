// The memory that analysis predicts for training, against what a compiled step takes.
#include "analysis/memory.h"

#include <gtest/gtest.h>

#include "models/model.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

TEST(TrainingMemory, AnalysisAgreesWithTheCompiledStep) {
  // Padding of channels to blocks, scratch memory of kernels and gaps in the arena are what
  // analysis does not see.
  constexpr double kTolerance = 0.05;
  const std::pair<const char*, int64_t> cases[] = {
      {"resnet18-cifar", 32}, {"resnet20-cifar", 64}, {"mobilenet_v2", 4}, {"resnet50", 4}};
  for (const auto& [name, batch] : cases) {
    const Graph model = models::build_model(name, {.batch = batch});
    const double predicted = static_cast<double>(
        analysis::analyze_memory(model).training_total(analysis::Optimizer::kMomentum));
    const TrainingStep step(model, {.threads = 2});
    const auto measured =
        static_cast<double>(step.executable().arena_bytes() + step.executable().state_bytes());
    EXPECT_NEAR(predicted / measured, 1.0, kTolerance) << name;
  }
}

}  // namespace
}  // namespace trainyard::train
