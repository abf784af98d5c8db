// How the weights' gradient of a Winograd convolution is cut into pieces that fit the caches.
#include <algorithm>

#include "base/integers.h"
#include "engine/kernels/native/conv/winograd_plan.h"
#include "engine/kernels/native/conv/winograd_weight_gradient.h"
#include "engine/kernels/native/gemm/panel_gemm.h"

namespace trainyard::kernels::native {
namespace {

// Few tiles make the sums' traffic dominate, many make the transforms overflow the caches.
constexpr int64_t kTransformFloats = 512 << 10;
constexpr int64_t kFewestTiles = 128;
constexpr int64_t kMostTiles = 512;
constexpr int64_t kInGroup = 4;
constexpr int64_t kOutGroup = 6;

// Where one unit holds all channels, its sums are small beside the transforms, and a core's
// second-level cache holds both.
constexpr int64_t kMostSegments = 8;
constexpr int64_t kSegmentTiles = 64;
constexpr int64_t kSegmentFloats = 128 << 10;

// 1: all threads share the tiles.
int64_t count_segments(const WinogradPlan& tiles) {
  if (tiles.in_blocks > kInGroup || tiles.out_blocks > kOutGroup) return 1;
  return std::clamp<int64_t>(tiles.tiles / kSegmentTiles, 1, kMostSegments);
}

}  // namespace

WinogradWeightGradient::Plan plan_winograd_weight_gradient(const WinogradShape& shape,
                                                           int threads) {
  const WinogradPlan tiles = plan_winograd(shape, kWeightGradientTile, WinogradWeights::kGiven, 1);
  WinogradWeightGradient::Plan plan;
  plan.points = tiles.points;
  plan.segments = count_segments(tiles);
  const bool shared = plan.segments == 1;
  const int64_t per_tile = tiles.points * (tiles.in_blocks + tiles.out_blocks) * kBlock;
  const int64_t held = shared ? std::clamp(kTransformFloats / per_tile, kFewestTiles, kMostTiles)
                              : std::max<int64_t>(1, kSegmentFloats / per_tile);
  const int64_t most_tiles = divide_up(tiles.tiles, plan.segments);
  plan.chunks = divide_up(most_tiles, held);
  plan.chunk_tiles = divide_up(most_tiles, plan.chunks);
  plan.in_groups = divide_up(tiles.in_blocks, kInGroup);
  if (shared)
    plan.in_groups = std::max(plan.in_groups, std::min<int64_t>(tiles.in_blocks, threads));
  plan.in_group = divide_up(tiles.in_blocks, plan.in_groups);
  plan.out_groups = divide_up(tiles.out_blocks, kOutGroup);
  plan.out_group = divide_up(tiles.out_blocks, plan.out_groups);
  plan.v_stride = spread_stride(tiles.in_blocks * plan.chunk_tiles * kBlock);
  plan.m_stride = spread_stride(tiles.out_blocks * plan.chunk_tiles * kBlock);
  return plan;
}

}  // namespace trainyard::kernels::native
