// The input side of a Winograd convolution: tiles of a blocked image, transformed.
// Included by files compiled for AVX2 only.
#pragma once

#include "engine/kernels/native/conv/winograd_plan.h"
#include "engine/kernels/native/conv/winograd_transform.h"
#include "engine/kernels/native/conv/winograd_wide.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

struct TilePosition {
  int64_t image;
  int64_t y;  // in tiles
  int64_t x;

  TilePosition(const WinogradPlan& plan, int64_t tile)
      : image(tile / (plan.tile_rows * plan.tile_columns)),
        y(tile / plan.tile_columns % plan.tile_rows),
        x(tile % plan.tile_columns) {}

  void next(const WinogradPlan& plan) {
    if (++x < plan.tile_columns) return;
    x = 0;
    if (++y < plan.tile_rows) return;
    y = 0;
    ++image;
  }
};

// Where block `index` of 8 channels begins in an image of blocks of 8 or 16.
inline int64_t block_offset(int64_t index, int64_t positions, int64_t block) {
  const int64_t channel = index * kBlock;
  return channel / block * block * positions + channel % block;
}

template <int kOutputs, int kPoints>
class InputTiles {
 public:
  // v_stride: floats from one point to the next in the result.
  InputTiles(const WinogradShape& shape, const WinogradPlan& plan, const float* src,
             int64_t v_stride)
      : shape_(shape), plan_(plan), src_(src), v_stride_(v_stride) {
    if (works_wide(shape)) wide_ = wide_winograd_tile(kOutputs, kPoints).input;
  }

  // Sixteen channels at a time?
  static bool works_wide(const WinogradShape& shape) {
    return shape.block == 2 * kBlock && cpu_has_avx512();
  }

  // v[point][block][tile][8] = B^T d B for the given tiles and blocks of input channels.
  void transform(Range tiles, Range blocks, float* v) const {
    const int64_t plane = shape_.height * shape_.width;
    const int64_t half = tiles.size() * kBlock;
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      TilePosition at(plan_, tiles.begin);
      float* out = v + block * half;
      const bool both = wide_ != nullptr && block % 2 == 0 && block + 1 < blocks.end;
      for (int64_t tile = tiles.begin; tile < tiles.end; ++tile, out += kBlock) {
        input_tile(src_ + at.image * plan_.src_image + block_offset(block, plane, shape_.block), at,
                   out, both ? half : 0);
        at.next(plan_);
      }
      if (both) ++block;
    }
  }

 private:
  // half: floats to the block behind this one, if that is transformed with it; else 0.
  void input_tile(const float* plane, const TilePosition& at, float* v, int64_t half) const {
    const int64_t y = at.y * kOutputs - shape_.pad_top;
    const int64_t x = at.x * kOutputs - shape_.pad_left;
    const float* rows[kPoints];
    for (int i = 0; i < kPoints; ++i) {
      rows[i] = plane + ((y + i) * shape_.width + x) * shape_.block;
    }
    if (y >= 0 && x >= 0 && y + kPoints <= shape_.height && x + kPoints <= shape_.width) {
      if (half != 0) {
        wide_(rows, 0, kPoints, {v_stride_, half}, v);
      } else {
        transform_tile<true>(rows, 0, kPoints, v);
      }
      return;
    }
    alignas(64) static constexpr float kZeroRow[kPoints * kPanelWidth] = {};
    for (int i = 0; i < kPoints; ++i) {
      if (y + i < 0 || y + i >= shape_.height) rows[i] = kZeroRow;
    }
    if (half != 0) {
      wide_(rows, -x, shape_.width - x, {v_stride_, half}, v);
    } else {
      transform_tile<false>(rows, -x, shape_.width - x, v);
    }
  }

  // Columns before `left` and from `right` on count as zero unless kWhole.
  template <bool kWhole>
  void transform_tile(const float* (&rows)[kPoints], int64_t left, int64_t right, float* v) const {
    __m256 columns[kPoints][kPoints];
    for (int j = 0; j < kPoints; ++j) {
      __m256 column[kPoints];
      __m256 result[kPoints];
      if (kWhole || (left <= j && j < right)) {
        for (int i = 0; i < kPoints; ++i) {
          column[i] = _mm256_load_ps(rows[i] + j * shape_.block);
        }
        WinogradInput<kPoints>::transform(column, result);
        for (int i = 0; i < kPoints; ++i) columns[i][j] = result[i];
      } else {
        for (int i = 0; i < kPoints; ++i) columns[i][j] = _mm256_setzero_ps();
      }
    }
    for (int i = 0; i < kPoints; ++i) {
      __m256 result[kPoints];
      WinogradInput<kPoints>::transform(columns[i], result);
      for (int j = 0; j < kPoints; ++j) {
        _mm256_store_ps(v, result[j]);
        v += v_stride_;
      }
    }
  }

  const WinogradShape& shape_;
  const WinogradPlan& plan_;
  const float* src_;
  int64_t v_stride_;
  decltype(WideWinogradTile::input) wide_ = nullptr;
};

}  // namespace trainyard::kernels::native
