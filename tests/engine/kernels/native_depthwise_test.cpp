// Depthwise convolution against plain loops: sizes, strides, padding, channels, batches, threads.
#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/native/conv/depthwise.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kDepthwiseSeed = 20240614;
// Of the largest output: ten roundings of 6e-8 each.
constexpr double kDepthwiseTolerance = 6e-7;

void check_depthwise(const DepthwiseShape& shape, int threads, Activation activation) {
  ConvCase s = case_of_pictures(shape);
  s.in_channels = shape.channels;
  s.out_channels = shape.channels;
  s.stride = shape.stride;
  s.groups = shape.channels;
  SCOPED_TRACE(
      fmt::format("threads {} batch {} channels {} {}x{} stride {} pads {} {} {} {} seed {}",
                  threads, s.batch, s.in_channels, s.height, s.width, s.stride, s.pad_top,
                  s.pad_left, s.pad_bottom, s.pad_right, kDepthwiseSeed));
  std::mt19937 random(kDepthwiseSeed);
  const int64_t pixels = s.out_height() * s.out_width();
  const auto src = random_floats(s.batch * s.in_channels * s.height * s.width, random);
  const auto weights = random_floats(s.weight_count(), random);
  const auto bias = random_floats(s.out_channels, random);
  const DepthwiseConv conv(shape, weights.data(), bias.data(), activation);
  const AlignedFloats in = to_blocked(src, s.batch, s.in_channels, s.height * s.width);
  AlignedFloats out(s.batch * ((s.out_channels + 7) / 8) * 8 * pixels, 99.0F);
  conv.run(in.data(), out.data(), threads);

  const auto expected = reference_conv(s, src, weights, bias, {});
  expect_blocked(s, out, expected, activation, kDepthwiseTolerance);
}

using NativeDepthwise = NativeKernel;

TEST_F(NativeDepthwise, EverySmallImageSize) {
  for (int64_t stride : {1, 2}) {
    for (int64_t height : {1, 2, 3, 7, 8}) {
      for (int64_t width = 1; width <= 13; ++width) {
        check_depthwise({.channels = 8, .height = height, .width = width, .stride = stride}, 1,
                        kIdentity);
      }
    }
  }
}

TEST_F(NativeDepthwise, EveryPaddingOfTheColumns) {
  for (int64_t stride : {1, 2}) {
    for (int64_t left = 0; left <= 4; ++left) {
      for (int64_t right = 0; right <= 4; ++right) {
        check_depthwise({.channels = 3,
                         .height = 5,
                         .width = 3,
                         .stride = stride,
                         .pad_top = right,
                         .pad_left = left,
                         .pad_bottom = left,
                         .pad_right = right},
                        1, kIdentity);
      }
    }
  }
}

TEST_F(NativeDepthwise, ChannelsBatchesAndThreads) {
  for (int64_t channels : {1, 8, 13, 24}) {
    for (int64_t batch : {1, 7}) {
      for (int threads : {1, 2}) {
        check_depthwise(
            {.batch = batch, .channels = channels, .height = 9, .width = 14, .stride = 2}, threads,
            {0.0F, 6.0F});
      }
    }
  }
}

TEST_F(NativeDepthwise, RefusesOtherStridesEmptyShapesAndActivationsThatMoveZero) {
  const std::vector<float> weights(9, 1.0F);
  EXPECT_THROW(DepthwiseConv({.channels = 1, .height = 9, .width = 9, .stride = 3}, weights.data(),
                             nullptr, kIdentity),
               Error);
  EXPECT_THROW(
      DepthwiseConv({.channels = 1, .height = 0, .width = 9}, weights.data(), nullptr, kIdentity),
      Error);
  EXPECT_THROW(DepthwiseConv({.channels = 1, .height = 9, .width = 9}, weights.data(), nullptr,
                             {-2.0F, -1.0F}),
               Error);
}

}  // namespace
}  // namespace trainyard::kernels::native
