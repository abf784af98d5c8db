// 1x1 convolution against plain loops: channels, positions, batches, sums, threads, parts.
#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/kernels/native/conv/pointwise.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kPointwiseSeed = 20261117;
// Of the largest output: a rounding of 6e-8 for each of a few hundred products.
constexpr double kPointwiseTolerance = 3e-6;

class NativePointwise : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_has_avx512()) GTEST_SKIP() << "this processor lacks AVX-512";
  }
};

ConvCase case_of(const PointwiseShape& shape) {
  return {.batch = shape.batch,
          .in_channels = shape.in_channels,
          .out_channels = shape.out_channels,
          .height = 1,
          .width = shape.positions,
          .kernel = 1};
}

int64_t blocked(int64_t channels) {
  return (channels + 7) / 8 * 8;
}

struct Extras {
  int threads = 1;
  bool bias = true;
  bool sum = false;
  Activation activation = kIdentity;
};

void check_pointwise(const PointwiseShape& shape, const Extras& extras) {
  const ConvCase s = case_of(shape);
  SCOPED_TRACE(fmt::format("threads {} batch {} channels {} to {} positions {} seed {}",
                           extras.threads, s.batch, s.in_channels, s.out_channels, s.width,
                           kPointwiseSeed));
  std::mt19937 random(kPointwiseSeed);
  const auto src = random_floats(s.batch * s.in_channels * s.width, random);
  const auto weights = random_floats(s.weight_count(), random);
  const auto bias = extras.bias ? random_floats(s.out_channels, random) : std::vector<float>();
  const auto sum =
      extras.sum ? random_floats(s.batch * s.out_channels * s.width, random) : std::vector<float>();
  const PointwiseConv conv(shape, weights.data(), extras.bias ? bias.data() : nullptr,
                           extras.activation);
  const AlignedFloats in = to_blocked(src, s.batch, s.in_channels, s.width);
  AlignedFloats out(s.batch * blocked(s.out_channels) * s.width, 99.0F);
  if (extras.sum) out = to_blocked(sum, s.batch, s.out_channels, s.width);
  conv.run(in.data(), extras.sum ? out.data() : nullptr, out.data(), extras.threads);
  expect_blocked(s, out, reference_conv(s, src, weights, bias, sum), extras.activation,
                 kPointwiseTolerance);
}

TEST_F(NativePointwise, EveryNumberOfPositions) {
  for (int64_t positions = 1; positions <= 26; ++positions) {
    check_pointwise({.in_channels = 8, .out_channels = 32, .positions = positions}, {});
  }
}

TEST_F(NativePointwise, EveryNumberOfChannels) {
  for (int64_t in : {1, 7, 8, 9, 24}) {
    for (int64_t out : {1, 8, 9, 16, 17, 24, 25, 32, 33, 48, 49, 64, 72}) {
      check_pointwise({.in_channels = in, .out_channels = out, .positions = 13},
                      {.activation = kRelu});
    }
  }
}

TEST_F(NativePointwise, SumsBatchesAndThreads) {
  // More weights than input, whose channels are shared, and fewer, whose positions are.
  for (const auto& [channels, positions] : {std::pair<int64_t, int64_t>{96, 5}, {40, 300}}) {
    for (const int64_t batch : {1, 3}) {
      for (const int threads : {1, 2, 3}) {
        for (const bool sum : {false, true}) {
          check_pointwise(
              {.batch = batch, .in_channels = 16, .out_channels = channels, .positions = positions},
              {.threads = threads, .bias = !sum, .sum = sum, .activation = {-0.5F, 0.75F}});
        }
      }
    }
  }
}

TEST_F(NativePointwise, MoreInputThanTheCacheHolds) {
  check_pointwise({.in_channels = 512, .out_channels = 64, .positions = 200}, {.threads = 2});
}

TEST_F(NativePointwise, ImagesMayBePartsOfLargerOnes) {
  const PointwiseShape dense{.batch = 2, .in_channels = 16, .out_channels = 40, .positions = 30};
  PointwiseShape part = dense;
  part.src_image_stride = 16 * 30 + 240;
  part.dst_image_stride = 40 * 30 + 480;
  std::mt19937 random(kPointwiseSeed);
  const auto src = random_floats(2 * 16 * 30, random);
  const auto weights = random_floats(40 * 16, random);
  const AlignedFloats in = to_blocked(src, 2, 16, 30);
  AlignedFloats spread(2 * part.src_image_stride, 7.0F);
  for (int64_t image = 0; image < 2; ++image) {
    std::copy_n(in.data() + image * 16 * 30, 16 * 30,
                spread.data() + image * part.src_image_stride);
  }
  AlignedFloats expected(2 * 40 * 30);
  AlignedFloats found(2 * part.dst_image_stride, 5.0F);
  PointwiseConv(dense, weights.data(), nullptr, kRelu).run(in.data(), nullptr, expected.data(), 2);
  PointwiseConv(part, weights.data(), nullptr, kRelu).run(spread.data(), nullptr, found.data(), 2);
  for (int64_t image = 0; image < 2; ++image) {
    const float* at = found.data() + image * part.dst_image_stride;
    EXPECT_TRUE(std::equal(at, at + 40 * 30, expected.data() + image * 40 * 30)) << image;
    EXPECT_TRUE(std::all_of(at + 40 * 30, at + part.dst_image_stride, [](float value) {
      return value == 5.0F;
    })) << image;
  }
}

}  // namespace
}  // namespace trainyard::kernels::native
