// The packed linear layer against plain loops: odd sizes, batches, threads, both storage orders.
#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/native/gemm/packed_linear.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kPackedLinearSeed = 20240613;
// Of the largest output: up to 700 roundings of 6e-8 each, most of which cancel.
constexpr double kPackedLinearTolerance = 2e-6;

void check_packed_linear(const LinearShape& s, bool transposed, bool with_bias, int threads,
                         Activation activation = kIdentity) {
  SCOPED_TRACE(fmt::format("rows {} inputs {} outputs {} transposed {} threads {} seed {}", s.rows,
                           s.inputs, s.outputs, transposed, threads, kPackedLinearSeed));
  std::mt19937 random(kPackedLinearSeed);
  const auto x = random_floats(s.rows * s.inputs, random);
  const auto weights = random_floats(s.inputs * s.outputs, random);
  const auto bias = random_floats(s.outputs, random);
  const int64_t output_stride = transposed ? 1 : s.inputs;
  const int64_t input_stride = transposed ? s.outputs : 1;
  const PackedLinear linear(s, weights.data(), output_stride, input_stride,
                            with_bias ? bias.data() : nullptr, activation);
  std::vector<float> y(static_cast<size_t>(s.rows * s.outputs), 99.0F);
  AlignedFloats scratch(linear.scratch_bytes(threads) / static_cast<int64_t>(sizeof(float)), 7e7F);
  linear.run(x.data(), y.data(), scratch.data(), threads);

  std::vector<double> expected;
  double scale = 1;
  for (int64_t row = 0; row < s.rows; ++row) {
    for (int64_t k = 0; k < s.outputs; ++k) {
      double sum = with_bias ? double{bias[static_cast<size_t>(k)]} : 0;
      for (int64_t c = 0; c < s.inputs; ++c) {
        sum += double{x[static_cast<size_t>(row * s.inputs + c)]} *
               double{weights[static_cast<size_t>(k * output_stride + c * input_stride)]};
      }
      expected.push_back(sum);
      scale = std::max(scale, std::abs(sum));
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const double clipped = std::clamp(expected[i], double{activation.low}, double{activation.high});
    ASSERT_NEAR(y[i], clipped, kPackedLinearTolerance * scale) << "element " << i;
  }
}

using NativePackedLinear = NativeKernel;

TEST_F(NativePackedLinear, OddSizesBatchesAndThreads) {
  for (int64_t rows : {1, 2, 7, 8, 13}) {
    for (int64_t inputs : {1, 8, 29, 256, 700}) {
      for (int64_t outputs : {1, 16, 37}) {
        for (int threads : {1, 2})
          check_packed_linear({rows, inputs, outputs}, false, true, threads);
      }
    }
  }
}

TEST_F(NativePackedLinear, EitherStorageOrderWithOrWithoutBias) {
  check_packed_linear({3, 40, 50}, /*transposed=*/true, /*with_bias=*/true, 1);
  check_packed_linear({3, 40, 50}, /*transposed=*/true, /*with_bias=*/false, 2, kRelu);
  check_packed_linear({5, 40, 20}, /*transposed=*/false, /*with_bias=*/true, 2, {-0.5F, 1.0F});
}

TEST_F(NativePackedLinear, RefusesEmptyShapes) {
  const float weight = 1;
  EXPECT_THROW(PackedLinear({1, 0, 1}, &weight, 1, 1, nullptr, kIdentity), Error);
}

TEST(NativePackedLinearRule, TakesSmallBatchesOnly) {
  EXPECT_FALSE(packed_linear_pays({1, 4096, 4096}));
  EXPECT_TRUE(packed_linear_pays({8, 4096, 4096}));
  EXPECT_FALSE(packed_linear_pays({64, 4096, 4096}));
}

}  // namespace
}  // namespace trainyard::kernels::native
