// Gradients of a 3x3 depthwise convolution.
#include "engine/kernels/native/conv/depthwise_gradient.h"

#include <algorithm>

#include "base/integers.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

// --- gradient of the input, stride 2

// One row of dy that reaches a row of dx, and the row of the window it does so by.
struct ContributingRow {
  const float* dy;
  __m256 taps[3];
};

// A row of dx from kRows rows of dy. Columns x = 2 at - pad_left see taps 0 (of dy at `at`) and 2
// (of the one before), columns after them see tap 1 alone.
template <int kRows>
void spread_row(const DepthwiseShape& shape, const ContributingRow (&rows)[2], float* dx) {
  const int64_t out_width = shape.out_width();
  const __m256 zero = _mm256_setzero_ps();
  __m256 before[2] = {zero, zero};
  for (int64_t at = 0; 2 * at - shape.pad_left < shape.width; ++at) {
    __m256 even = zero;
    __m256 odd = zero;
    for (int i = 0; i < kRows; ++i) {
      const __m256 here = at < out_width ? _mm256_load_ps(rows[i].dy + at * kBlock) : zero;
      even = _mm256_fmadd_ps(here, rows[i].taps[0], even);
      even = _mm256_fmadd_ps(before[i], rows[i].taps[2], even);
      odd = _mm256_fmadd_ps(here, rows[i].taps[1], odd);
      before[i] = here;
    }
    const int64_t x = 2 * at - shape.pad_left;
    if (x >= 0) _mm256_store_ps(dx + x * kBlock, even);
    if (x + 1 >= 0 && x + 1 < shape.width) _mm256_store_ps(dx + (x + 1) * kBlock, odd);
  }
}

void spread_plane(const DepthwiseShape& shape, const float* packed, const float* dy, float* dx) {
  const int64_t out_row = shape.out_width() * kBlock;
  for (int64_t y = 0; y < shape.height; ++y, dx += shape.width * kBlock) {
    ContributingRow rows[2];
    int count = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t twice = y + shape.pad_top - i;
      if (twice < 0 || twice % 2 != 0 || twice / 2 >= shape.out_height()) continue;
      ContributingRow& row = rows[count++];
      row.dy = dy + twice / 2 * out_row;
      for (int64_t j = 0; j < 3; ++j) row.taps[j] = _mm256_load_ps(packed + (i * 3 + j) * kBlock);
    }
    if (count == 0) spread_row<0>(shape, rows, dx);
    if (count == 1) spread_row<1>(shape, rows, dx);
    if (count == 2) spread_row<2>(shape, rows, dx);
  }
}

// --- gradient of the weights

using DepthwiseGradientRows = const float* [3];

// Adds to sums[tap][8] the products of one row of dy with three rows of the input.
template <int kStride>
void add_row_depthwise_gradient(const DepthwiseShape& shape, const DepthwiseGradientRows& rows,
                                const float* dy, float* sums) {
  const int64_t out_width = shape.out_width();
  // Outputs whose windows lie inside the rows: [first, last).
  const int64_t first = std::min(out_width, divide_up(shape.pad_left, kStride));
  const int64_t room = shape.width + shape.pad_left - 3;
  const int64_t last = std::clamp(room >= 0 ? room / kStride + 1 : 0, first, out_width);
  __m256 s0 = _mm256_load_ps(sums);
  __m256 s1 = _mm256_load_ps(sums + kBlock);
  __m256 s2 = _mm256_load_ps(sums + 2 * kBlock);
  __m256 s3 = _mm256_load_ps(sums + 3 * kBlock);
  __m256 s4 = _mm256_load_ps(sums + 4 * kBlock);
  __m256 s5 = _mm256_load_ps(sums + 5 * kBlock);
  __m256 s6 = _mm256_load_ps(sums + 6 * kBlock);
  __m256 s7 = _mm256_load_ps(sums + 7 * kBlock);
  __m256 s8 = _mm256_load_ps(sums + 8 * kBlock);
  const auto add = [&](const float* input, __m256 value, __m256& sum) {
    sum = _mm256_fmadd_ps(_mm256_load_ps(input), value, sum);
  };
  const auto add_column = [&](int64_t column, __m256 value, __m256& a, __m256& b, __m256& c) {
    add(rows[0] + column * kBlock, value, a);
    add(rows[1] + column * kBlock, value, b);
    add(rows[2] + column * kBlock, value, c);
  };
  const auto add_edge = [&](int64_t at) {
    const int64_t x = at * kStride - shape.pad_left;
    const __m256 value = _mm256_load_ps(dy + at * kBlock);
    if (x >= 0 && x < shape.width) add_column(x, value, s0, s3, s6);
    if (x + 1 >= 0 && x + 1 < shape.width) add_column(x + 1, value, s1, s4, s7);
    if (x + 2 >= 0 && x + 2 < shape.width) add_column(x + 2, value, s2, s5, s8);
  };
  for (int64_t at = 0; at < first; ++at) add_edge(at);
  for (int64_t at = first; at < last; ++at) {
    const int64_t x = at * kStride - shape.pad_left;
    const __m256 value = _mm256_load_ps(dy + at * kBlock);
    add_column(x, value, s0, s3, s6);
    add_column(x + 1, value, s1, s4, s7);
    add_column(x + 2, value, s2, s5, s8);
  }
  for (int64_t at = last; at < out_width; ++at) add_edge(at);
  _mm256_store_ps(sums, s0);
  _mm256_store_ps(sums + kBlock, s1);
  _mm256_store_ps(sums + 2 * kBlock, s2);
  _mm256_store_ps(sums + 3 * kBlock, s3);
  _mm256_store_ps(sums + 4 * kBlock, s4);
  _mm256_store_ps(sums + 5 * kBlock, s5);
  _mm256_store_ps(sums + 6 * kBlock, s6);
  _mm256_store_ps(sums + 7 * kBlock, s7);
  _mm256_store_ps(sums + 8 * kBlock, s8);
}

// Rows added up before they go to the total: few enough for float to keep its digits.
constexpr int64_t kRowsTogether = 16;

// Adds one plane's sums to total[tap][8].
template <int kStride>
void add_plane(const DepthwiseShape& shape, const float* src, const float* dy, const float* zeros,
               float* total) {
  const int64_t row_floats = shape.width * kBlock;
  for (int64_t begin = 0; begin < shape.out_height(); begin += kRowsTogether) {
    alignas(32) float sums[kDepthwiseTaps * kBlock] = {};
    const int64_t end = std::min(begin + kRowsTogether, shape.out_height());
    for (int64_t y = begin; y < end; ++y) {
      DepthwiseGradientRows rows;
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t row = y * kStride - shape.pad_top + i;
        rows[i] = row >= 0 && row < shape.height ? src + row * row_floats : zeros;
      }
      add_row_depthwise_gradient<kStride>(shape, rows, dy + y * shape.out_width() * kBlock, sums);
    }
    for (int64_t i = 0; i < kDepthwiseTaps * kBlock; ++i) total[i] += sums[i];
  }
}

}  // namespace

void depthwise_input_gradient_by_two(const DepthwiseShape& shape, const float* packed,
                                     const float* dy, float* dx, int threads) {
  const int64_t blocks = divide_up(shape.channels, kBlock);
  const int64_t dx_plane = shape.height * shape.width * kBlock;
  const int64_t dy_plane = shape.out_height() * shape.out_width() * kBlock;
  parallel(threads, [&](int id) {
    const Range mine = part_of(shape.batch * blocks, threads, id);
    for (int64_t plane = mine.begin; plane < mine.end; ++plane) {
      spread_plane(shape, packed + plane % blocks * kDepthwisePacked, dy + plane * dy_plane,
                   dx + plane * dx_plane);
    }
  });
}

void depthwise_weight_gradient(const DepthwiseShape& shape, const float* src, const float* dy,
                               const float* zeros, float* dw, int threads) {
  const int64_t blocks = divide_up(shape.channels, kBlock);
  const int64_t src_plane = shape.height * shape.width * kBlock;
  const int64_t dy_plane = shape.out_height() * shape.out_width() * kBlock;
  parallel(threads, [&](int id) {
    const Range mine = part_of(blocks, threads, id);
    for (int64_t block = mine.begin; block < mine.end; ++block) {
      alignas(32) float total[kDepthwiseTaps * kBlock] = {};
      for (int64_t image = 0; image < shape.batch; ++image) {
        const int64_t plane = image * blocks + block;
        (shape.stride == 1 ? add_plane<1> : add_plane<2>)(shape, src + plane * src_plane,
                                                          dy + plane * dy_plane, zeros, total);
      }
      const int64_t lanes = std::min(kBlock, shape.channels - block * kBlock);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        for (int64_t tap = 0; tap < kDepthwiseTaps; ++tap) {
          dw[(block * kBlock + lane) * kDepthwiseTaps + tap] = total[tap * kBlock + lane];
        }
      }
    }
  });
}

}  // namespace trainyard::kernels::native
