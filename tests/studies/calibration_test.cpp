#include "studies/calibration/calibration.h"

#include <gtest/gtest.h>

#include "engine/profile.h"
#include "studies/calibration/step_samples.h"
#include "train/training_step.h"

namespace trainyard::measure {
namespace {

using predict::Family;
using predict::MeasuredSample;
using predict::Pass;

double seconds_of(const std::vector<MeasuredSample>& samples, Family family, Pass pass) {
  double sum = 0;
  for (const MeasuredSample& sample : samples) {
    const predict::Term& main = sample.terms.front();
    if (main.family == family && main.pass == pass) sum += sample.seconds;
  }
  return sum;
}

TEST(Calibration, TinyGraphsGiveRatesForTheirFamilies) {
  CalibrationOptions options;
  options.threads = 1;
  options.seconds = 0.05;
  options.graphs = quick_calibration_graphs();
  double last = 0;
  options.progress = [&](double share, std::string_view) {
    EXPECT_GE(share, last);
    last = share;
  };
  const Calibration result = calibrate(options);
  EXPECT_EQ(last, 1);
  EXPECT_GT(result.device.fp32, 1e9);
  EXPECT_GT(result.device.bytes_per_s, 1e8);
  EXPECT_GT(result.device.memory_bytes, 1e8);
  for (const Family family : {Family::kStem, Family::kPoint, Family::kDepthwise, Family::kGemm}) {
    EXPECT_GT(seconds_of(result.samples, family, Pass::kInference), 0) << family_name(family);
    EXPECT_GT(seconds_of(result.samples, family, Pass::kForward), 0) << family_name(family);
  }
  for (const Family family : {Family::kPoint, Family::kNormAfterProduct, Family::kMaxPool}) {
    EXPECT_GT(seconds_of(result.samples, family, Pass::kData), 0) << family_name(family);
    EXPECT_GT(result.stack.measured->time({family, Pass::kData, 1e6, 1e6, 1e6}), 0);
  }
  EXPECT_GT(seconds_of(result.samples, Family::kUpdate, Pass::kData), 0);
}

// Numbers are given to steps by hand, so that every one must be found again.
TEST(StepSamples, AccountForEveryStepOfAnOperator) {
  const std::vector<CalibrationGraph> graphs = quick_calibration_graphs();
  for (const CalibrationGraph& graph : graphs) {
    const predict::NetworkProfile profile = predict::profile_graph(graph.build(1));
    const train::TrainingStep step(graph.build(2), {.threads = 1});
    const std::vector<runtime::StepInfo>& steps = step.executable().steps();
    const std::vector<double> seconds(steps.size(), 1.0);
    double sum = 0;
    for (const MeasuredSample& sample : training_samples(profile, 2, steps, seconds)) {
      sum += sample.seconds;
    }
    double expected = 0;
    for (const runtime::StepInfo& info : steps) {
      // Reorders of the input, views and what the loss is made of belong to nothing.
      const bool none = info.node.starts_with("image") || info.node.starts_with("loss") ||
                        info.node.starts_with("grad.loss") ||
                        info.node.find("flatten") != std::string::npos;
      expected += none ? 0 : 1;
    }
    EXPECT_EQ(sum, expected) << graph.name;
  }
}

}  // namespace
}  // namespace trainyard::measure
