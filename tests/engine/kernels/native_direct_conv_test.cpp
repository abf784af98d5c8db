// The direct convolution for AVX-512 against plain loops: windows, strides, padding, channels,
// positions, batches, sums, threads, parts, both sizes of blocks.
#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/integers.h"
#include "engine/kernels/native/conv/direct_conv.h"
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kDirectSeed = 20261117;
// Of the largest output: a rounding of 6e-8 for each of a few hundred products.
constexpr double kDirectTolerance = 3e-6;

class NativeDirectConv : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!cpu_has_avx512()) GTEST_SKIP() << "this processor lacks AVX-512";
  }
};

INSTANTIATE_TEST_SUITE_P(Blocks, NativeDirectConv, ::testing::Values(8, 16));

ConvCase case_of(const DirectShape& shape) {
  ConvCase s = case_of_pictures(shape);
  s.in_channels = shape.in_channels;
  s.out_channels = shape.out_channels;
  s.kernel = shape.kernel;
  s.stride = shape.stride;
  return s;
}

struct Extras {
  int threads = 1;
  bool bias = true;
  bool sum = false;
  Activation activation = kIdentity;
};

AlignedFloats scratch_of(const DirectConv& conv, int threads) {
  return AlignedFloats(conv.scratch_bytes(threads) / static_cast<int64_t>(sizeof(float)), 7e7F);
}

void check_direct(const DirectShape& shape, const Extras& extras) {
  const ConvCase s = case_of(shape);
  SCOPED_TRACE(fmt::format(
      "threads {} batch {} channels {} to {} {}x{} window {} stride {} seed {}", extras.threads,
      s.batch, s.in_channels, s.out_channels, s.height, s.width, s.kernel, s.stride, kDirectSeed));
  std::mt19937 random(kDirectSeed);
  const int64_t pixels = s.out_height() * s.out_width();
  const auto src = random_floats(s.batch * s.in_channels * s.height * s.width, random);
  const auto weights = random_floats(s.weight_count(), random);
  const auto bias = extras.bias ? random_floats(s.out_channels, random) : std::vector<float>();
  const auto sum =
      extras.sum ? random_floats(s.batch * s.out_channels * pixels, random) : std::vector<float>();
  const DirectConv conv(shape, weights.data(), extras.bias ? bias.data() : nullptr,
                        extras.activation);
  const AlignedFloats in = to_blocked(src, s.batch, s.in_channels, s.height * s.width, shape.block);
  AlignedFloats out(s.batch * divide_up(s.out_channels, shape.block) * shape.block * pixels, 99.0F);
  if (extras.sum) out = to_blocked(sum, s.batch, s.out_channels, pixels, shape.block);
  AlignedFloats scratch = scratch_of(conv, extras.threads);
  conv.run(in.data(), extras.sum ? out.data() : nullptr, out.data(), scratch.data(),
           extras.threads);
  expect_blocked(s, out, reference_conv(s, src, weights, bias, sum), extras.activation,
                 kDirectTolerance, shape.block);
}

TEST_P(NativeDirectConv, EveryNumberOfPositions) {
  for (int64_t positions = 1; positions <= 30; ++positions) {
    for (const int64_t out : {16, 64}) {
      check_direct({.in_channels = 8,
                    .out_channels = out,
                    .height = 1,
                    .width = positions,
                    .block = GetParam()},
                   {});
    }
  }
}

TEST_P(NativeDirectConv, EveryNumberOfChannels) {
  for (int64_t in : {1, 7, 8, 9, 16, 24, 40}) {
    for (int64_t out : {1, 8, 9, 16, 17, 24, 25, 32, 33, 48, 49, 64, 72, 112}) {
      for (int64_t width : {6, 13}) {
        check_direct({.in_channels = in,
                      .out_channels = out,
                      .height = 1,
                      .width = width,
                      .block = GetParam()},
                     {.activation = kRelu});
      }
    }
  }
}

TEST_P(NativeDirectConv, WindowsStridesAndPadding) {
  for (const int64_t kernel : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t pad : {0, 1, 2}) {
        check_direct({.batch = 2,
                      .in_channels = 9,
                      .out_channels = 40,
                      .height = 11,
                      .width = 8,
                      .kernel = kernel,
                      .stride = stride,
                      .pad_top = pad,
                      .pad_left = pad,
                      .pad_bottom = 1,
                      .pad_right = 2 * pad,
                      .block = GetParam()},
                     {.threads = 2, .sum = kernel == 3, .activation = kRelu});
      }
    }
  }
}

TEST_P(NativeDirectConv, SumsBatchesAndThreads) {
  // More weights than input, whose channels are shared, and fewer, whose positions are.
  for (const auto& [channels, positions] : {std::pair<int64_t, int64_t>{96, 5}, {40, 300}}) {
    for (const int64_t batch : {1, 3}) {
      for (const int threads : {1, 2, 3}) {
        for (const bool sum : {false, true}) {
          check_direct(
              {.batch = batch,
               .in_channels = 16,
               .out_channels = channels,
               .height = 1,
               .width = positions,
               .block = GetParam()},
              {.threads = threads, .bias = !sum, .sum = sum, .activation = {-0.5F, 0.75F}});
        }
      }
    }
  }
}

// Rows and channels in several parts: partial sums, and a copy of some rows at a time.
TEST_P(NativeDirectConv, MoreThanTheCacheHolds) {
  check_direct(
      {.in_channels = 1500, .out_channels = 40, .height = 1, .width = 90, .block = GetParam()},
      {.threads = 2, .sum = true});
  check_direct({.in_channels = 150,
                .out_channels = 48,
                .height = 27,
                .width = 15,
                .kernel = 3,
                .stride = 2,
                .pad_top = 1,
                .pad_left = 1,
                .pad_bottom = 1,
                .pad_right = 1,
                .block = GetParam()},
               {.threads = 3, .sum = true, .activation = kRelu});
}

TEST_P(NativeDirectConv, ThreadsDoNotChangeResults) {
  const DirectShape shape{.in_channels = 200,
                          .out_channels = 80,
                          .height = 9,
                          .width = 9,
                          .kernel = 3,
                          .block = GetParam()};
  std::mt19937 random(kDirectSeed);
  const auto weights = random_floats(80 * 200 * 9, random);
  const AlignedFloats in = to_blocked(random_floats(200 * 81, random), 1, 200, 81, shape.block);
  const DirectConv conv(shape, weights.data(), nullptr, kRelu);
  AlignedFloats one(80 * 49);
  AlignedFloats scratch = scratch_of(conv, 3);
  conv.run(in.data(), nullptr, one.data(), scratch.data(), 1);
  for (const int threads : {2, 3}) {
    AlignedFloats many(80 * 49);
    conv.run(in.data(), nullptr, many.data(), scratch.data(), threads);
    EXPECT_TRUE(std::equal(one.data(), one.data() + 80 * 49, many.data())) << threads;
  }
}

TEST_P(NativeDirectConv, FinishIsAppliedOnceToAll) {
  const DirectShape shape{
      .in_channels = 1500, .out_channels = 48, .height = 5, .width = 7, .block = GetParam()};
  std::mt19937 random(kDirectSeed);
  const auto weights = random_floats(48 * 1500, random);
  const AlignedFloats in = to_blocked(random_floats(1500 * 35, random), 1, 1500, 35, shape.block);
  DirectConv conv(shape, weights.data(), nullptr, kIdentity);
  AlignedFloats expected(48 * 35);
  AlignedFloats found(48 * 35);
  conv.run(in.data(), nullptr, expected.data(), nullptr, 2);
  wide_swish(expected.data(), 48 * 35, 1.0F, expected.data());
  conv.set_finish(wide_swish, 1.0F);
  conv.run(in.data(), nullptr, found.data(), nullptr, 2);
  EXPECT_TRUE(std::equal(found.data(), found.data() + 48 * 35, expected.data()));
}

TEST_P(NativeDirectConv, ImagesMayBePartsOfLargerOnes) {
  const DirectShape dense{.batch = 2,
                          .in_channels = 16,
                          .out_channels = 48,
                          .height = 5,
                          .width = 6,
                          .block = GetParam()};
  DirectShape part = dense;
  part.src_image_stride = 16 * 30 + 240;
  part.dst_image_stride = 48 * 30 + 480;
  std::mt19937 random(kDirectSeed);
  const auto src = random_floats(2 * 16 * 30, random);
  const auto weights = random_floats(48 * 16, random);
  const AlignedFloats in = to_blocked(src, 2, 16, 30, dense.block);
  AlignedFloats spread(2 * part.src_image_stride, 7.0F);
  for (int64_t image = 0; image < 2; ++image) {
    std::copy_n(in.data() + image * 16 * 30, 16 * 30,
                spread.data() + image * part.src_image_stride);
  }
  AlignedFloats expected(2 * 48 * 30);
  AlignedFloats found(2 * part.dst_image_stride, 5.0F);
  DirectConv(dense, weights.data(), nullptr, kRelu)
      .run(in.data(), nullptr, expected.data(), nullptr, 2);
  DirectConv(part, weights.data(), nullptr, kRelu)
      .run(spread.data(), nullptr, found.data(), nullptr, 2);
  for (int64_t image = 0; image < 2; ++image) {
    const float* at = found.data() + image * part.dst_image_stride;
    EXPECT_TRUE(std::equal(at, at + 48 * 30, expected.data() + image * 48 * 30)) << image;
    EXPECT_TRUE(std::all_of(at + 48 * 30, at + part.dst_image_stride, [](float value) {
      return value == 5.0F;
    })) << image;
  }
}

}  // namespace
}  // namespace trainyard::kernels::native
