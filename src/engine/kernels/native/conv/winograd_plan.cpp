// How a Winograd convolution is cut into blocks that fit the caches, and shared between threads.
#include "engine/kernels/native/conv/winograd_plan.h"

#include <algorithm>

#include "base/integers.h"
#include "engine/kernels/native/gemm/panel_gemm.h"

namespace trainyard::kernels::native {
namespace {

// Blocks of tiles are sized to this much of a core's second-level cache, 3/4 of 512 KiB.
constexpr int64_t kCacheFloats = 96 << 10;
// Below this, reading the weights costs as much as multiplying by them.
constexpr int64_t kFewTiles = 24;
constexpr int64_t kBlockPanels = 2;
// Transformed weights of this size do not stay in a core's share of the last cache, 16 MiB.
constexpr int64_t kLargeWeights = 2 << 20;
// The transformed input of all tiles does, and is read again for every block of panels: measured,
// weights of 36 MiB and 32, 64 and 128 tiles of 512 channels are 1.5, 1.0 and 0.8 times as fast.
constexpr int64_t kLateFloats = 5 << 17;

// Limits of the measured rule in winograd.h.
constexpr int64_t kMinChannels = 16;
constexpr int64_t kManyTiles = 12;
constexpr int64_t kLargeImage = 96;
constexpr int64_t kSmallImage = 16;
constexpr int64_t kManyWeights = 256 * 256;  // pairs of channels

}  // namespace

int64_t spread_stride(int64_t floats) {
  constexpr int64_t kLine = 16;
  return (divide_up(floats, kLine) | 1) * kLine;
}

std::optional<WinogradTile> winograd_pays(const WinogradShape& shape) {
  if (std::min(shape.in_channels, shape.out_channels) < kMinChannels) return std::nullopt;
  const int64_t smaller_side = std::min(shape.out_height(), shape.out_width());
  // Even the smallest tiles would be mostly padding.
  if (smaller_side < 4) return std::nullopt;
  if (shape.kernel == 5) return WinogradTile::k4;
  if (shape.kernel != 3) return std::nullopt;
  if (smaller_side >= kLargeImage) return WinogradTile::k6;
  const int64_t tiles =
      shape.batch * divide_up(shape.out_height(), 4) * divide_up(shape.out_width(), 4);
  return tiles >= kManyTiles ? WinogradTile::k4 : WinogradTile::k2;
}

WinogradTile compact_tile(const WinogradShape& shape, WinogradTile tile) {
  const int64_t smaller_side = std::min(shape.out_height(), shape.out_width());
  const bool hardly_slower =
      tile == WinogradTile::k4 && shape.kernel == 3 && smaller_side <= kSmallImage;
  return hardly_slower && shape.in_channels * shape.out_channels >= kManyWeights ? WinogradTile::k2
                                                                                 : tile;
}

std::optional<WinogradTile> training_winograd_pays(const WinogradShape& shape) {
  const std::optional<WinogradTile> tile = winograd_pays(shape);
  // Small tiles are for few of them, and then the weights' transform is most of the work.
  if (tile == WinogradTile::k2) return std::nullopt;
  return tile;
}

WinogradPlan plan_winograd(const WinogradShape& shape, WinogradTile tile, WinogradWeights weights,
                           int threads) {
  const int64_t edge = static_cast<int64_t>(tile);
  WinogradPlan plan;
  const int64_t side = edge + shape.kernel - 1;
  plan.points = side * side;
  plan.tile_rows = divide_up(shape.out_height(), edge);
  plan.tile_columns = divide_up(shape.out_width(), edge);
  plan.tiles = shape.batch * plan.tile_rows * plan.tile_columns;
  plan.in_blocks = divide_up(shape.in_channels, kBlock);
  // Padding of the last block of memory is written too, as zero.
  plan.out_blocks = divide_up(shape.out_channels, shape.block) * (shape.block / kBlock);
  plan.src_image = shape.src_image_stride;
  if (plan.src_image == 0) {
    plan.src_image =
        divide_up(shape.in_channels, shape.block) * shape.block * shape.height * shape.width;
  }
  plan.dst_image = shape.dst_image_stride;
  if (plan.dst_image == 0) {
    plan.dst_image = plan.out_blocks * kBlock * shape.out_height() * shape.out_width();
  }
  plan.panels = divide_up(shape.out_channels, kPanelWidth);

  plan.panel_floats = plan.points * shape.in_channels * kPanelWidth;
  plan.late_filters = weights == WinogradWeights::kNonConstant && plan.panels >= threads &&
                      plan.panels * plan.panel_floats >= kLargeWeights &&
                      plan.tiles * plan.points * plan.in_blocks * kBlock <= kLateFloats;

  const int64_t per_thread = divide_up(plan.tiles, threads);
  plan.split_panels =
      threads > 1 && plan.panels >= threads && (plan.late_filters || per_thread < kFewTiles);
  plan.block_panels =
      std::min(kBlockPanels, plan.split_panels ? plan.panels / threads : plan.panels);
  const int64_t block_channels = plan.in_blocks * kBlock + plan.block_panels * kPanelWidth;
  const int64_t fits = std::max(kFewTiles, kCacheFloats / (plan.points * block_channels));
  const int64_t share = plan.split_panels ? plan.tiles : per_thread;
  const int64_t blocks = plan.late_filters ? 1 : divide_up(share, fits);
  plan.block_tiles = divide_up(share, blocks);
  plan.v_stride = spread_stride(plan.in_blocks * plan.block_tiles * kBlock);
  plan.m_stride = spread_stride(plan.block_panels * kPanelWidth * plan.block_tiles);
  return plan;
}

}  // namespace trainyard::kernels::native
