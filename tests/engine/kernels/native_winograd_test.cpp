// Winograd convolution against plain loops: sizes, channels, padding, batches, threads, epilogues.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/native/conv/winograd.h"
#include "engine/kernels/native_conv_reference.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kWinogradSeed = 20240611;

// Of the largest output. With 4, 6 and 8 points per dimension the transforms scale up and down
// again by growing factors, and float carries 6e-8; the measured maxima are a few times below
// these.
double tolerance(const WinogradShape& shape, WinogradTile tile) {
  const int64_t points = static_cast<int64_t>(tile) + shape.kernel - 1;
  return points == 4 ? 2e-6 : points == 6 ? 1e-5 : 5e-5;
}

struct Epilogue {
  bool bias = true;
  bool residual = false;
  bool in_place = false;  // the residual is dst itself
  Activation activation = kIdentity;
};

void check_winograd(const WinogradShape& shape, WinogradTile tile, int threads,
                    const Epilogue& epilogue) {
  ConvCase s = case_of_pictures(shape);
  s.in_channels = shape.in_channels;
  s.out_channels = shape.out_channels;
  s.kernel = shape.kernel;
  SCOPED_TRACE(fmt::format("F{} threads {} batch {} channels {}->{} {}x{} pads {} {} {} {} seed {}",
                           static_cast<int>(tile), threads, s.batch, s.in_channels, s.out_channels,
                           s.height, s.width, s.pad_top, s.pad_left, s.pad_bottom, s.pad_right,
                           kWinogradSeed));
  std::mt19937 random(kWinogradSeed);
  const int64_t pixels = s.out_height() * s.out_width();
  const auto src = random_floats(s.batch * s.in_channels * s.height * s.width, random);
  const auto weights = random_floats(s.weight_count(), random);
  std::vector<float> bias;
  std::vector<float> residual;
  if (epilogue.bias) bias = random_floats(s.out_channels, random);
  if (epilogue.residual) residual = random_floats(s.batch * s.out_channels * pixels, random);

  const auto expected = reference_conv(s, src, weights, bias, residual);
  for (const int64_t block : {8, 16}) {
    SCOPED_TRACE(fmt::format("blocks of {}", block));
    WinogradShape in_blocks = shape;
    in_blocks.block = block;
    const WinogradConv conv(in_blocks, tile, weights.data(), bias.empty() ? nullptr : bias.data(),
                            epilogue.activation);
    const AlignedFloats in = to_blocked(src, s.batch, s.in_channels, s.height * s.width, block);
    AlignedFloats out(s.batch * (s.out_channels + 2 * block) * pixels, 99.0F);
    AlignedFloats added(0);
    const float* added_data = nullptr;
    if (epilogue.residual) {
      added = to_blocked(residual, s.batch, s.out_channels, pixels, block);
      if (epilogue.in_place) out = to_blocked(residual, s.batch, s.out_channels, pixels, block);
      added_data = epilogue.in_place ? out.data() : added.data();
    }
    AlignedFloats scratch(conv.scratch_bytes(threads) / static_cast<int64_t>(sizeof(float)), 7e7F);
    conv.run(in.data(), added_data, out.data(), scratch.data(), threads);
    expect_blocked(s, out, expected, epilogue.activation, tolerance(shape, tile), block);
  }
}

class NativeWinograd : public NativeKernel, public ::testing::WithParamInterface<WinogradTile> {};

TEST_P(NativeWinograd, EverySmallImageSize) {
  for (int64_t height = 1; height <= 15; ++height) {
    for (int64_t width : {1, 2, 5, 8, 13, 14}) {
      check_winograd({.in_channels = 8, .out_channels = 16, .height = height, .width = width},
                     GetParam(),
                     /*threads=*/1, {});
    }
  }
}

TEST_P(NativeWinograd, ChannelsThatDoNotFillBlocks) {
  for (int64_t in : {1, 3, 8, 13, 24, 67}) {
    for (int64_t out : {1, 8, 15, 24, 33}) {
      for (int threads : {1, 2}) {
        check_winograd({.in_channels = in, .out_channels = out, .height = 9, .width = 11},
                       GetParam(), threads, {});
      }
    }
  }
}

TEST_P(NativeWinograd, UnequalAndWidePadding) {
  check_winograd({.in_channels = 5,
                  .out_channels = 9,
                  .height = 10,
                  .width = 7,
                  .pad_top = 0,
                  .pad_left = 0,
                  .pad_bottom = 0,
                  .pad_right = 0},
                 GetParam(), 1, {});
  check_winograd({.in_channels = 5,
                  .out_channels = 9,
                  .height = 10,
                  .width = 7,
                  .pad_top = 3,
                  .pad_left = 0,
                  .pad_bottom = 2,
                  .pad_right = 1},
                 GetParam(), 2, {});
  // Wider than a tile: some tiles see padding only.
  check_winograd({.in_channels = 4,
                  .out_channels = 8,
                  .height = 2,
                  .width = 3,
                  .pad_top = 9,
                  .pad_left = 10,
                  .pad_bottom = 8,
                  .pad_right = 11},
                 GetParam(), 1, {});
}

TEST_P(NativeWinograd, BatchesAndThreads) {
  for (int64_t batch : {1, 2, 7}) {
    for (int threads : {1, 2, 3}) {
      check_winograd(
          {.batch = batch, .in_channels = 16, .out_channels = 48, .height = 14, .width = 14},
          GetParam(), threads, {});
    }
  }
}

TEST_P(NativeWinograd, FiveByFiveWindow) {
  if (GetParam() == WinogradTile::k6) GTEST_SKIP() << "there is no such tile";
  for (int64_t height : {1, 4, 7, 14, 27}) {
    for (int64_t channels : {3, 16, 29}) {
      check_winograd({.batch = 2,
                      .in_channels = channels,
                      .out_channels = 24,
                      .height = height,
                      .width = 9,
                      .kernel = 5,
                      .pad_top = 2,
                      .pad_left = 2,
                      .pad_bottom = 2,
                      .pad_right = 1},
                     GetParam(), 2, {.activation = kRelu});
    }
  }
}

TEST_P(NativeWinograd, ManyTilesTakeSeveralBlocks) {
  check_winograd({.in_channels = 40, .out_channels = 40, .height = 61, .width = 59}, GetParam(), 2,
                 {});
}

TEST_P(NativeWinograd, Epilogues) {
  const WinogradShape shape = {
      .batch = 2, .in_channels = 9, .out_channels = 20, .height = 13, .width = 10};
  check_winograd(shape, GetParam(), 1, {.bias = false});
  check_winograd(shape, GetParam(), 1, {.activation = kRelu});
  check_winograd(shape, GetParam(), 1, {.activation = {-0.5F, 2.0F}});
  check_winograd(shape, GetParam(), 2, {.residual = true});
  check_winograd(shape, GetParam(), 2, {.residual = true, .in_place = true, .activation = kRelu});
}

// Batches of two images inside tensors of three channel blocks.
TEST_P(NativeWinograd, PartsOfWiderTensors) {
  std::mt19937 random(kWinogradSeed);
  constexpr int64_t kPixels = 81;
  constexpr int64_t kWide = 3 * 8 * kPixels;
  WinogradShape shape = {.batch = 2, .in_channels = 16, .out_channels = 8, .height = 9, .width = 9};
  const auto weights = random_floats(16 * 8 * 9, random);
  const AlignedFloats wide = to_blocked(random_floats(2 * 24 * kPixels, random), 2, 24, kPixels);
  AlignedFloats dense(2 * 16 * kPixels);
  for (int64_t image : {0, 1}) {
    std::copy_n(wide.data() + image * kWide + 8 * kPixels, 16 * kPixels,
                dense.data() + image * 16 * kPixels);
  }
  AlignedFloats expected(2 * 8 * kPixels);
  AlignedFloats actual(2 * kWide, 5.0F);
  const auto run = [&](const float* src, float* dst) {
    const WinogradConv conv(shape, GetParam(), weights.data(), nullptr, kIdentity);
    AlignedFloats scratch(conv.scratch_bytes(2) / static_cast<int64_t>(sizeof(float)));
    conv.run(src, nullptr, dst, scratch.data(), 2);
  };
  run(dense.data(), expected.data());
  shape.src_image_stride = kWide;
  shape.dst_image_stride = kWide;
  run(wide.data() + 8 * kPixels, actual.data() + 8 * kPixels);
  for (int64_t i = 0; i < 2 * kWide; ++i) {
    const int64_t at = i % kWide - 8 * kPixels;
    const bool part = at >= 0 && at < 8 * kPixels;
    ASSERT_EQ(actual.data()[i], part ? expected.data()[i / kWide * 8 * kPixels + at] : 5.0F) << i;
  }
}

TEST_P(NativeWinograd, SameBitsEveryTime) {
  std::mt19937 random(kWinogradSeed);
  const WinogradShape shape = {.in_channels = 24, .out_channels = 32, .height = 20, .width = 20};
  const auto weights = random_floats(24 * 32 * 9, random);
  const AlignedFloats in = to_blocked(random_floats(24 * 400, random), 1, 24, 400);
  const WinogradConv conv(shape, GetParam(), weights.data(), nullptr, kIdentity);
  std::vector<float> first;
  for (int threads : {1, 2, 2}) {
    AlignedFloats out(32 * 400);
    AlignedFloats scratch(conv.scratch_bytes(threads) / static_cast<int64_t>(sizeof(float)));
    conv.run(in.data(), nullptr, out.data(), scratch.data(), threads);
    const auto actual = from_blocked(out, 1, 32, 400);
    if (first.empty()) first = actual;
    EXPECT_EQ(first, actual) << threads << " threads, seed " << kWinogradSeed;
  }
}

TEST_P(NativeWinograd, RefusesEmptyShapesAndActivationsThatMoveZero) {
  const std::vector<float> weights(9, 1.0F);
  EXPECT_THROW(WinogradConv({.in_channels = 1,
                             .out_channels = 1,
                             .height = 1,
                             .width = 4,
                             .pad_top = 0,
                             .pad_bottom = 1},
                            GetParam(), weights.data(), nullptr, kIdentity),
               Error);
  EXPECT_THROW(WinogradConv({.in_channels = 1, .out_channels = 1, .height = 4, .width = 4},
                            GetParam(), weights.data(), nullptr, {1.0F, 2.0F}),
               Error);
  EXPECT_THROW(
      WinogradConv({.in_channels = 1, .out_channels = 1, .height = 9, .width = 9, .kernel = 7},
                   GetParam(), weights.data(), nullptr, kIdentity),
      Error);
}

TEST(NativeWinogradRule, FollowsImageSizeAndChannels) {
  const auto tile = [](int64_t batch, int64_t channels, int64_t size, int64_t kernel) {
    return winograd_pays({.batch = batch,
                          .in_channels = channels,
                          .out_channels = 64,
                          .height = size,
                          .width = size,
                          .kernel = kernel});
  };
  EXPECT_EQ(tile(1, 3, 224, 3), std::nullopt);
  EXPECT_EQ(tile(1, 64, 224, 3), WinogradTile::k6);
  EXPECT_EQ(tile(1, 64, 56, 3), WinogradTile::k4);
  EXPECT_EQ(tile(1, 512, 14, 3), WinogradTile::k4);
  EXPECT_EQ(tile(1, 512, 7, 3), WinogradTile::k2);
  EXPECT_EQ(tile(8, 512, 7, 3), WinogradTile::k4);
  EXPECT_EQ(tile(1, 512, 2, 3), std::nullopt);
  EXPECT_EQ(tile(1, 64, 27, 5), WinogradTile::k4);
  EXPECT_EQ(tile(1, 64, 27, 7), std::nullopt);
}

TEST(NativeWinogradRule, SavesMemoryWhereWeightsAreLarge) {
  const auto tile = [](int64_t channels, int64_t size) {
    const WinogradShape shape{
        .in_channels = channels, .out_channels = channels, .height = size, .width = size};
    return compact_tile(shape, *winograd_pays(shape));
  };
  EXPECT_EQ(tile(256, 14), WinogradTile::k2);
  EXPECT_EQ(tile(512, 7), WinogradTile::k2);
  EXPECT_EQ(tile(128, 14), WinogradTile::k4);
  EXPECT_EQ(tile(256, 28), WinogradTile::k4);
}

INSTANTIATE_TEST_SUITE_P(Tiles, NativeWinograd,
                         ::testing::Values(WinogradTile::k2, WinogradTile::k4, WinogradTile::k6),
                         [](const auto& instance) {
                           return "F" + std::to_string(static_cast<int>(instance.param));
                         });

}  // namespace
}  // namespace trainyard::kernels::native
