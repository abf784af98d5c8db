// Winograd's transform of filters that change between runs.
#include "engine/kernels/native/conv/winograd_filter.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/conv/winograd_transform.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/transpose.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kWinogradFilterSquare = kBlock * kBlock;

template <int kOutputs, int kTaps>
class FilterTransform {
 public:
  static constexpr int kPoints = kOutputs + kTaps - 1;
  static constexpr int64_t kWindow = kTaps * kTaps;

  FilterTransform(const WinogradShape& shape, FilterUse use, const float* weights)
      : shape_(shape),
        use_(use),
        weights_(weights),
        in_blocks_(divide_up(shape.in_channels, kBlock)),
        out_blocks_(divide_up(shape.out_channels, kBlock)) {}

  // One panel of 16 output channels by one block of 8 input channels, to its place in `out`.
  void transform(int64_t panel, int64_t in_block, float* out) const {
    // Gathered first: the points lie so far apart in `out` that they fall into the same cache sets.
    alignas(32) float points[kPoints * kPoints * kBlock * kPanelWidth];
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t out_block = 2 * panel + half;
      if (out_block < out_blocks_) {
        transform_block(out_block, in_block, points + half * kBlock);
      } else {
        clear_half(points + half * kBlock);
      }
    }
    const int64_t count = std::min(kBlock, shape_.in_channels - in_block * kBlock) * kPanelWidth;
    float* to = out + in_block * kBlock * kPanelWidth;
    for (int64_t point = 0; point < kPoints * kPoints; ++point) {
      std::copy_n(points + point * kBlock * kPanelWidth, count,
                  to + point * shape_.in_channels * kPanelWidth);
    }
  }

 private:
  static void clear_half(float* points) {
    for (int64_t row = 0; row < kPoints * kPoints * kBlock; ++row) {
      _mm256_store_ps(points + row * kPanelWidth, _mm256_setzero_ps());
    }
  }

  void transform_block(int64_t out_block, int64_t in_block, float* points) const {
    if (use_ == FilterUse::kForward) {
      transform_taps(
          weights_ + (out_block * in_blocks_ + in_block) * kWindow * kWinogradFilterSquare, points);
      return;
    }
    alignas(32) float turned[kWindow * kWinogradFilterSquare];
    const float* from =
        weights_ + (in_block * out_blocks_ + out_block) * kWindow * kWinogradFilterSquare;
    for (int64_t tap = 0; tap < kWindow; ++tap) {
      transpose_8x8(from + tap * kWinogradFilterSquare, kBlock,
                    turned + (kWindow - 1 - tap) * kWinogradFilterSquare, kBlock);
    }
    transform_taps(turned, points);
  }

  // From taps [tap][8 input channels][8 output channels].
  static void transform_taps(const float* taps, float* points) {
    for (int64_t c = 0; c < kBlock; ++c) {
      __m256 half[kPoints][kTaps];
      for (int x = 0; x < kTaps; ++x) {
        __m256 column[kTaps];
        __m256 result[kPoints];
        for (int y = 0; y < kTaps; ++y) {
          column[y] = _mm256_load_ps(taps + (y * kTaps + x) * kWinogradFilterSquare + c * kBlock);
        }
        winograd_filter_transform(column, result);
        for (int i = 0; i < kPoints; ++i) half[i][x] = result[i];
      }
      for (int i = 0; i < kPoints; ++i) {
        __m256 result[kPoints];
        winograd_filter_transform(half[i], result);
        for (int j = 0; j < kPoints; ++j) {
          _mm256_store_ps(points + ((i * kPoints + j) * kBlock + c) * kPanelWidth, result[j]);
        }
      }
    }
  }

  const WinogradShape& shape_;
  FilterUse use_;
  const float* weights_;
  int64_t in_blocks_;
  int64_t out_blocks_;
};

template <int kOutputs, int kTaps>
void transform_block_of(const WinogradShape& shape, FilterUse use, const float* weights,
                        int64_t panel, int64_t in_block, float* out) {
  FilterTransform<kOutputs, kTaps>(shape, use, weights).transform(panel, in_block, out);
}

}  // namespace

ChangingFilters::ChangingFilters(const WinogradProduct& product, FilterUse use,
                                 const float* weights)
    : product_(product), use_(use), weights_(weights) {
  const auto edge = static_cast<int64_t>(product.tile());
  if (product.shape().kernel == 5) {
    transform_ = edge == 2 ? transform_block_of<2, 5> : transform_block_of<4, 5>;
  } else {
    transform_ = edge == 2   ? transform_block_of<2, 3>
                 : edge == 4 ? transform_block_of<4, 3>
                             : transform_block_of<6, 3>;
  }
}

void ChangingFilters::transform(int64_t panel, float* out) const {
  const int64_t in_blocks = divide_up(product_.shape().in_channels, kBlock);
  for (int64_t block = 0; block < in_blocks; ++block) {
    transform_(product_.shape(), use_, weights_, panel, block, out);
  }
}

void ChangingFilters::transform_all(float* out, int threads) const {
  const WinogradShape& shape = product_.shape();
  const int64_t in_blocks = divide_up(shape.in_channels, kBlock);
  const int64_t panels = divide_up(shape.out_channels, kPanelWidth);
  const int64_t panel_floats = product_.weight_floats() / panels;
  parallel(threads, [&](int id) {
    const Range mine = part_of(panels * in_blocks, threads, id);
    for (int64_t item = mine.begin; item < mine.end; ++item) {
      const int64_t panel = item / in_blocks;
      transform_(shape, use_, weights_, panel, item % in_blocks, out + panel * panel_floats);
    }
  });
}

}  // namespace trainyard::kernels::native
