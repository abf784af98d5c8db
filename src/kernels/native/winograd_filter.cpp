// Winograd's transform of filters that change between runs.
#include "kernels/native/winograd_filter.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "kernels/native/panel_gemm.h"
#include "kernels/native/parallel.h"
#include "kernels/native/transpose.h"
#include "kernels/native/winograd_transform.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kWinogradFilterSquare = kBlock * kBlock;

template <int kOutputs, int kTaps>
class FilterTransform {
 public:
  static constexpr int kPoints = kOutputs + kTaps - 1;
  static constexpr int64_t kWindow = kTaps * kTaps;

  FilterTransform(const WinogradShape& shape, FilterUse use, const float* weights, float* out)
      : shape_(shape),
        use_(use),
        weights_(weights),
        out_(out),
        in_blocks_(divide_up(shape.in_channels, kBlock)),
        out_blocks_(divide_up(shape.out_channels, kBlock)) {}

  int64_t items() const { return divide_up(out_blocks_, 2) * in_blocks_; }

  // One panel of 16 output channels by one block of 8 input channels.
  void transform(int64_t item) const {
    const int64_t panel = item / in_blocks_;
    const int64_t in_block = item % in_blocks_;
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
    float* to =
        out_ + (panel * kPoints * kPoints * shape_.in_channels + in_block * kBlock) * kPanelWidth;
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
  float* out_;
  int64_t in_blocks_;
  int64_t out_blocks_;
};

template <int kOutputs, int kTaps>
void transform_all(const WinogradShape& shape, FilterUse use, const float* weights, float* out,
                   int threads) {
  const FilterTransform<kOutputs, kTaps> transform(shape, use, weights, out);
  parallel(threads, [&](int id) {
    const Range mine = part_of(transform.items(), threads, id);
    for (int64_t item = mine.begin; item < mine.end; ++item) transform.transform(item);
  });
}

}  // namespace

void transform_filters(const WinogradProduct& product, FilterUse use, const float* weights,
                       float* transformed, int threads) {
  const WinogradShape& shape = product.shape();
  const auto edge = static_cast<int64_t>(product.tile());
  if (shape.kernel == 5) {
    (edge == 2 ? transform_all<2, 5> : transform_all<4, 5>)(shape, use, weights, transformed,
                                                            threads);
    return;
  }
  (edge == 2   ? transform_all<2, 3>
   : edge == 4 ? transform_all<4, 3>
               : transform_all<6, 3>)(shape, use, weights, transformed, threads);
}

}  // namespace trainyard::kernels::native
