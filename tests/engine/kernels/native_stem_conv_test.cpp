// The stem convolution against plain loops: windows, strides, padding, channels, batches, threads.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/native/conv/stem_conv.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kStemConvSeed = 20240612;
// Of the largest output: a few hundred roundings of 6e-8 each, most of which cancel.
constexpr double kStemConvTolerance = 2e-6;

void check_stem_conv(const StemShape& shape, int threads, Activation activation) {
  ConvCase s = case_of_pictures(shape);
  s.in_channels = shape.in_channels;
  s.out_channels = shape.out_channels;
  s.kernel = shape.kernel;
  s.stride = shape.stride;
  SCOPED_TRACE(fmt::format("threads {} batch {} channels {}->{} {}x{} window {} stride {} seed {}",
                           threads, s.batch, s.in_channels, s.out_channels, s.height, s.width,
                           s.kernel, s.stride, kStemConvSeed));
  std::mt19937 random(kStemConvSeed);
  const int64_t pixels = s.out_height() * s.out_width();
  const auto src = random_floats(s.batch * s.in_channels * s.height * s.width, random);
  const auto weights = random_floats(s.weight_count(), random);
  const auto bias = random_floats(s.out_channels, random);
  const StemConv conv(shape, weights.data(), bias.data(), activation);
  AlignedFloats out(s.batch * ((s.out_channels + 7) / 8) * 8 * pixels, 99.0F);
  AlignedFloats scratch(conv.scratch_bytes(threads) / static_cast<int64_t>(sizeof(float)), 7e7F);
  conv.run(src.data(), out.data(), scratch.data(), threads);

  const auto expected = reference_conv(s, src, weights, bias, {});
  expect_blocked(s, out, expected, activation, kStemConvTolerance);
}

using NativeStemConv = NativeKernel;

TEST_F(NativeStemConv, WindowsAndStrides) {
  for (int64_t kernel : {1, 3, 7, 11}) {
    for (int64_t stride : {1, 2, 3, 4}) {
      check_stem_conv(
          {.out_channels = 16, .height = 23, .width = 29, .kernel = kernel, .stride = stride}, 1,
          kIdentity);
    }
  }
}

TEST_F(NativeStemConv, ChannelsBatchesAndThreads) {
  for (int64_t in : {1, 3, 4}) {
    for (int64_t out : {1, 8, 20, 33}) {
      for (int threads : {1, 2}) {
        check_stem_conv({.batch = 7,
                         .in_channels = in,
                         .out_channels = out,
                         .height = 9,
                         .width = 8,
                         .kernel = 5,
                         .stride = 2,
                         .pad_top = 2,
                         .pad_left = 2,
                         .pad_bottom = 2,
                         .pad_right = 2},
                        threads, kRelu);
      }
    }
  }
}

TEST_F(NativeStemConv, UnequalPaddingAndUnusedColumns) {
  check_stem_conv({.out_channels = 9,
                   .height = 12,
                   .width = 14,
                   .kernel = 11,
                   .stride = 4,
                   .pad_top = 5,
                   .pad_left = 0,
                   .pad_bottom = 1,
                   .pad_right = 7},
                  2, {-1.0F, 2.0F});
  // Padding wider than the window.
  check_stem_conv({.out_channels = 8,
                   .height = 2,
                   .width = 2,
                   .kernel = 3,
                   .stride = 2,
                   .pad_top = 6,
                   .pad_left = 7,
                   .pad_bottom = 5,
                   .pad_right = 4},
                  1, kIdentity);
}

TEST_F(NativeStemConv, RefusesWindowsLargerThanTheImageAndActivationsThatMoveZero) {
  const std::vector<float> weights(3 * 81, 1.0F);
  EXPECT_THROW(StemConv({.out_channels = 1, .height = 5, .width = 20, .kernel = 9}, weights.data(),
                        nullptr, kIdentity),
               Error);
  EXPECT_THROW(StemConv({.out_channels = 1, .height = 20, .width = 20, .kernel = 9}, weights.data(),
                        nullptr, {0.5F, 1.0F}),
               Error);
}

TEST(NativeStemConvRule, TakesLargeWindowsOnly) {
  EXPECT_TRUE(
      stem_conv_pays({.out_channels = 64, .height = 224, .width = 224, .kernel = 11, .stride = 4}));
  EXPECT_FALSE(
      stem_conv_pays({.out_channels = 64, .height = 224, .width = 224, .kernel = 7, .stride = 2}));
}

}  // namespace
}  // namespace trainyard::kernels::native
