#include "quant/scheme.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"

namespace trainyard::quant {
namespace {

Tensor floats_of(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

TEST(StepsFor, ZeroHasAStepAndTheEndsAreReached) {
  const Steps steps = steps_for({-1, 3}, 8, false);
  EXPECT_FLOAT_EQ(steps.scale, 4.0F / 255);
  EXPECT_EQ(steps.zero, 64);
  EXPECT_EQ(steps.rounded(0), 0);
  EXPECT_NEAR(steps.high(), 3, 0.01);
  // A range without zero is widened.
  EXPECT_EQ(steps_for({2, 4}, 8, false).zero, 0);
  EXPECT_FLOAT_EQ(steps_for({2, 4}, 8, false).scale, 4.0F / 255);
}

TEST(StepsFor, SymmetricIsTheLargestOver127) {
  const Steps steps = steps_for({-1, 3}, 8, true);
  EXPECT_FLOAT_EQ(steps.scale, 3.0F / 127);
  EXPECT_EQ(steps.zero, 128);
  EXPECT_FLOAT_EQ(steps_for({-1, 1}, 4, true).scale, 1.0F / 7);
}

TEST(StepsFor, ARangeOfNothingWorksAndOneThatIsNotFiniteDoesNot) {
  EXPECT_EQ(steps_for({0, 0}, 8, false).scale, 1);
  EXPECT_EQ(steps_for({0, 1e-44}, 8, false).scale, 1);
  EXPECT_THROW(steps_for({0, std::numeric_limits<double>::infinity()}, 8, false), Error);
  EXPECT_THROW(steps_for({std::nan(""), 1}, 8, false), Error);
}

TEST(QuantizeWeights, PerChannelHasAScaleForEach) {
  const Tensor weights = floats_of({2, 2}, {1, -0.5F, 0.01F, 0.0025F});
  const QuantizedWeights each = quantize_weights(weights, 0, {});
  ASSERT_EQ(each.scales.size(), 2U);
  EXPECT_FLOAT_EQ(each.scales[1], 0.01F / 127);
  EXPECT_EQ(each.steps.values<int8_t>()[2], 127);
  EXPECT_EQ(each.steps.values<int8_t>()[3], 32);  // 31.75
  const QuantizedWeights along = quantize_weights(weights, 1, {});
  EXPECT_FLOAT_EQ(along.scales[1], 0.5F / 127);
  const QuantizedWeights one = quantize_weights(weights, 0, {.per_channel = false});
  ASSERT_EQ(one.scales.size(), 1U);
  EXPECT_EQ(one.steps.values<int8_t>()[2], 1);
  EXPECT_GT(sqnr_db(weights, each.reals(0)), sqnr_db(weights, one.reals(0)));
}

TEST(QuantizeWeights, NoiseFallsWithTheSquareOfTheSteps) {
  const RandomStream random(3);
  Tensor weights(DType::kF32, Shape{64, 200});
  for (size_t i = 0; i < 64 * 200; ++i) {
    weights.values<float>()[i] = static_cast<float>(random.uniform(i) * 2 - 1);
  }
  double before = 0;
  for (int64_t bits = 2; bits <= 8; ++bits) {
    const QuantizedWeights rounded =
        quantize_weights(weights, 0, {.limit = weight_limit(bits, false)});
    const double found = sqnr_db(weights, rounded.reals(0));
    if (bits > 3) {
      const double ratio = static_cast<double>(weight_limit(bits, false)) /
                           static_cast<double>(weight_limit(bits - 1, false));
      EXPECT_NEAR(found - before, 20 * std::log10(ratio), 0.2) << bits;
    }
    before = found;
  }
  EXPECT_EQ(weight_limit(8, false), 127);
  EXPECT_EQ(weight_limit(8, true), 64);
  EXPECT_EQ(weight_limit(2, false), 1);
}

TEST(QuantizeWeights, ZerosAndBadNumbers) {
  const QuantizedWeights zeros = quantize_weights(floats_of({1, 2}, {0, 0}), 0, {});
  EXPECT_GT(zeros.scales[0], 0);
  EXPECT_EQ(zeros.steps.values<int8_t>()[0], 0);
  EXPECT_THROW(quantize_weights(floats_of({1, 2}, {0, std::nanf("")}), 0, {}), Error);
}

TEST(QuantizeBias, IsInStepsOfBothScales) {
  const std::vector<float> scales = {0.5F, 0.25F};
  const Tensor steps = quantize_bias(floats_of({2}, {1, -1}), 0.1, scales);
  EXPECT_EQ(steps.values<int32_t>()[0], 20);
  EXPECT_EQ(steps.values<int32_t>()[1], -40);
}

}  // namespace
}  // namespace trainyard::quant
