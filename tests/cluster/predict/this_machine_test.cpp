#include "cluster/predict/this_machine.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster/predict/catalog.h"
#include "cluster/predict/measured_fit.h"
#include "cluster/predict/step.h"
#include "models/zoo/model.h"
#include "support/error_message.h"

namespace trainyard::predict {
namespace {

// Rates that differ from each other, with some that are free.
MeasuredCosts some_costs() {
  MeasuredCosts costs;
  costs.cache_bytes = 8e6;
  double next = 1;
  for (auto& family : costs.seconds) {
    for (Amounts& pass : family) {
      pass = {1e-11 * next, 5e-11 * next, 2e-10 * next, 1e-10, next > 20 ? 0 : 3e-6};
      next += 1;
    }
  }
  return costs;
}

Device some_device() {
  Device device;
  device.id = kThisMachine;
  device.name = "Some \"processor\"";
  device.kind = "cpu";
  device.fp32 = 2e11;
  device.memory_bytes = 16.0 * 1024 * 1024 * 1024;
  device.bytes_per_s = 2e10;
  device.clock_hz = 3e9;
  device.cores = 2;
  device.stack = "trainyard-this";
  device.source = "a test";
  return device;
}

Stack some_stack(MeasuredCosts costs) {
  Stack stack;
  stack.id = "trainyard-this";
  stack.name = "the engine";
  stack.fitted_to = "nothing";
  stack.measured = std::make_shared<const MeasuredCosts>(costs);
  return stack;
}

TEST(ThisMachine, ProfileComesBackFromItsFile) {
  constexpr double kSixDigits = 1e-5;
  const MeasuredCosts costs = some_costs();
  Catalog catalog = Catalog::built_in();
  catalog.add(machine_yaml(some_device(), some_stack(costs)), "this.yaml");
  const Device& device = catalog.device("this");
  EXPECT_EQ(device.name, some_device().name);
  EXPECT_EQ(device.cores, 2);
  EXPECT_NEAR(device.fp32, 2e11, 1);
  const Stack& stack = catalog.default_stack(device);
  ASSERT_NE(stack.measured, nullptr);
  EXPECT_EQ(stack.measured->cache_bytes, costs.cache_bytes);
  for (size_t family = 0; family < kFamilies; ++family) {
    for (size_t pass = 0; pass < kPasses; ++pass) {
      for (size_t i = 0; i < kAmounts; ++i) {
        const double expected = costs.seconds[family][pass][i];
        EXPECT_NEAR(stack.measured->seconds[family][pass][i], expected, kSixDigits * expected);
      }
    }
  }
}

TEST(ThisMachine, WithoutCalibrationTheErrorSaysWhatToRun) {
  const Catalog catalog = Catalog::built_in();
  const std::string message = message_of([&] { catalog.device("this"); });
  EXPECT_NE(message.find("trainyard calibrate"), std::string::npos) << message;
}

TEST(ThisMachine, MalformedProfilesAreReportedWithFileLineAndField) {
  const std::string head = "stacks:\n  trainyard-this:\n    measured:\n";
  const auto message = [&](const std::string& text) {
    return message_of([&] { Catalog::built_in().add(head + text, "this.yaml"); });
  };
  EXPECT_EQ(message("      cache_mb: little\n"),
            "this.yaml:4: field 'stacks.trainyard-this.measured.cache_mb': expected a number, "
            "found \"little\"");
  EXPECT_NE(message("      cache_mb: 8\n      families:\n        steam:\n          data: {}\n")
                .find("this.yaml:6"),
            std::string::npos);
  EXPECT_NE(message("      cache_mb: 8\n      families:\n        stem:\n          data: {gflops: "
                    "-3}\n")
                .find("families.stem.data.gflops"),
            std::string::npos);
  EXPECT_NE(message("      cache_mb: 8\n      families:\n        stem:\n          data: {speed: "
                    "3}\n")
                .find("kernel_us"),
            std::string::npos);
}

TEST(ThisMachine, MeasuredStacksStayOnTheirMachine) {
  const Stack stack = some_stack(some_costs());
  const Catalog catalog = Catalog::built_in();
  EXPECT_NE(message_of([&] {
              Roofline(catalog.device("k80"), stack, Precision::kFp32);
            }).find("cannot be moved"),
            std::string::npos);
  EXPECT_NE(message_of([&] { Roofline(some_device(), stack, Precision::kFp16); }).find("fp32"),
            std::string::npos);
}

TEST(MeasuredCosts, FindsTheRatesThatMadeTheSamples) {
  constexpr double kFitError = 0.02;  // coordinate descent stops early
  const MeasuredCosts truth = some_costs();
  const RandomStream random(3);
  std::vector<MeasuredSample> samples;
  for (uint64_t i = 0; i < 60; ++i) {
    Term term{Family::kPoint, Pass::kForward};
    term.flops = 1e8 * (1 + 50 * random.uniform(4 * i));
    term.bytes = 1e5 * std::exp(7 * random.uniform(4 * i + 1));
    term.weights = 1e4 * (1 + 300 * random.uniform(4 * i + 2));
    // A normalization that costs nothing, and is computed along the way.
    const Term free{Family::kNormAfterProduct, Pass::kInference, 0, term.bytes};
    samples.push_back({{term}, truth.time(term)});
    samples.push_back({{free}, 0});
  }
  const MeasuredCosts fitted = fit_costs(samples, 1e10);
  EXPECT_EQ(fitted.cache_bytes, truth.cache_bytes);
  EXPECT_LT(family_error(samples, fitted, Family::kPoint, Pass::kForward).error, kFitError);
  EXPECT_EQ(fitted.time({Family::kNormAfterProduct, Pass::kInference, 0, 1e6}), 0);
  // Never seen: bytes at memory speed.
  EXPECT_DOUBLE_EQ(fitted.time({Family::kConcat, Pass::kForward, 0, 1e6, 0, 0}), 1e6 / 1e10);
}

// Large operators of nearly one size are met by a constant as well as by a rate. The constant would
// be most of what small ones are predicted to take.
TEST(MeasuredCosts, NoKernelCostsMoreThanTheShortestSample) {
  constexpr double kShort = 3e-4;
  std::vector<MeasuredSample> samples;
  for (const double size : {0.98, 0.99, 1.0, 1.01, 1.02}) {
    // Twice the work in a fifth more time: no rate alone explains it.
    samples.push_back({{{Family::kStem, Pass::kWeights, size * 4e8, size * 4e6}}, 5e-3});
    samples.push_back({{{Family::kStem, Pass::kWeights, size * 8e8, size * 8e6}}, 6e-3});
  }
  const Term small{Family::kStem, Pass::kWeights, 4e6, 4e4};
  samples.push_back({{small}, kShort});
  const MeasuredCosts fitted = fit_costs(samples, 1e10);
  EXPECT_LE(fitted.time({Family::kStem, Pass::kWeights}), kShort);
  EXPECT_LE(fitted.time(small), 2 * kShort);
}

TEST(MeasuredCosts, NetworksTakeTheSumOfTheirOperators) {
  const NetworkProfile profile = profile_graph(models::build_model("resnet18-cifar"));
  const Stack stack = some_stack(some_costs());
  const Roofline roofline(some_device(), stack, Precision::kFp32);
  for (const auto& [mode, phases] :
       {std::pair(Mode::kInference, std::vector{Phase::kInference}),
        std::pair(Mode::kTraining, std::vector{Phase::kForward, Phase::kBackward})}) {
    double sum = mode == Mode::kTraining ? roofline.update_seconds(profile.parameters) : 0;
    for (const OpProfile& op : profile.ops) {
      for (const Phase phase : phases) {
        for (const Term& term : operator_terms(op, 4, phase)) sum += stack.measured->time(term);
      }
    }
    EXPECT_NEAR(predict_step(profile, roofline, 4, mode).total(), sum, 1e-9 * sum);
  }
}

TEST(MeasuredCosts, ChainsFollowTheirProducts) {
  const NetworkProfile profile = profile_graph(models::build_model("resnet18-cifar"));
  size_t sums = 0;
  for (const OpProfile& op : profile.ops) {
    if (op.op == "BatchNormalization") {
      EXPECT_EQ(op.chain, Chain::kProduct) << op.name;
    } else if (op.op == "Relu" || op.op == "Add") {
      EXPECT_EQ(op.chain, Chain::kNorm) << op.name;
      sums += op.op == "Add" ? 1 : 0;
    } else {
      EXPECT_EQ(op.chain, Chain::kNone) << op.name;
    }
  }
  EXPECT_EQ(sums, 8u);
}

}  // namespace
}  // namespace trainyard::predict
