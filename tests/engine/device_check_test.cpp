#include "engine/device_check.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/device/device_list.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::measure {
namespace {

// What real networks may differ by, relative to their largest output.
constexpr double kNetworkTolerance = 1e-4;

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const device::DeviceList list = device::list_devices();
    if (!list.opencl_missing.empty()) GTEST_SKIP() << list.opencl_missing;
    device_ = device::open_device("opencl");
  }

  runtime::Executable compiled(Graph graph, bool on_device) const {
    runtime::CompileOptions options;
    if (on_device) options.device = device_;
    return runtime::compile(std::move(graph), options);
  }

  static std::vector<float> run(const runtime::Executable& executable, int times = 1) {
    runtime::ExecutionContext context(executable);
    runtime::fill_inputs(context, executable, /*seed=*/7);
    for (int i = 0; i < times; ++i) context.run();
    const auto values = context.output(0).values<float>();
    return {values.begin(), values.end()};
  }

  static double difference(const std::vector<float>& found, const std::vector<float>& expected) {
    double largest = 0;
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(double{expected[i]}));
      worst = std::max(worst, std::abs(double{found[i]} - double{expected[i]}));
    }
    return worst / largest;
  }

  std::shared_ptr<device::Device> device_;
};

TEST_F(OnDevice, EveryKernelAgreesWithTheReference) {
  for (const DeviceCheck& check : check_device(device_)) {
    EXPECT_TRUE(check.passed) << check.op << " " << check.what << ": " << check.problem;
  }
}

TEST_F(OnDevice, NetworksRunThereWholeAndAgreeWithTheProcessor) {
  for (const char* name : {"lenet5", "resnet20-cifar", "squeezenet1_0"}) {
    const runtime::Executable there = compiled(models::build_model(name, {.batch = 1}), true);
    for (const runtime::StepInfo& step : there.steps()) {
      EXPECT_TRUE(step.kernel.starts_with("device") || step.kernel == "view")
          << name << ": " << step.node << " " << step.kernel;
    }
    const auto expected = run(compiled(models::build_model(name, {.batch = 1}), false));
    EXPECT_LE(difference(run(there, 2), expected), kNetworkTolerance) << name;
  }
}

Graph with_a_sine() {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, Shape{2, 9, 5, 5}});
  const ValueId sine = b.add("Sin", {b.add("Exp", {x})});
  graph.set_outputs(
      {b.add("Add", {b.add("Flatten", {b.add("Neg", {sine})}), b.add("Flatten", {x})})});
  return graph;
}

TEST_F(OnDevice, WhatItHasNoKernelForRunsHere) {
  const runtime::Executable there = compiled(with_a_sine(), true);
  const auto sine = std::find_if(there.steps().begin(), there.steps().end(),
                                 [](const auto& step) { return step.op == "Sin"; });
  EXPECT_FALSE(sine->kernel.starts_with("device"));
  EXPECT_EQ(sine->refusals.at(0).reason, "it has no such kernel");
  EXPECT_LE(difference(run(there), run(compiled(with_a_sine(), false))), 1e-6);
}

TEST_F(OnDevice, ObserversSeeWhatLiesThere) {
  const runtime::Executable there = compiled(with_a_sine(), true);
  runtime::ExecutionContext context(there);
  runtime::fill_inputs(context, there, /*seed=*/7);
  int seen = 0;
  context.set_observer([&](const runtime::StepView& step) {
    if (step.info().op != "Exp") return;
    ++seen;
    const Tensor output = step.output(0);
    EXPECT_FLOAT_EQ(output.values<float>()[3], std::exp(context.input(0).values<float>()[3]));
  });
  context.run();
  EXPECT_EQ(seen, 1);
}

TEST_F(OnDevice, ReferenceResultsAreNotAskedOfIt) {
  runtime::CompileOptions options;
  options.device = device_;
  options.reference_only = true;
  EXPECT_THROW(runtime::compile(with_a_sine(), options), Error);
}

}  // namespace
}  // namespace trainyard::measure
