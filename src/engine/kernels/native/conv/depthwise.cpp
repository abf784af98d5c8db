// 3x3 depthwise convolution: every channel has its own filter.
#include "engine/kernels/native/conv/depthwise.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

struct Filter {
  explicit Filter(const float* packed, Activation activation)
      : bias(_mm256_load_ps(packed + kDepthwiseTaps * kBlock)),
        low(_mm256_set1_ps(activation.low)),
        high(_mm256_set1_ps(activation.high)) {
    for (int64_t tap = 0; tap < kDepthwiseTaps; ++tap)
      taps[tap] = _mm256_load_ps(packed + tap * kBlock);
  }

  void store(float* out, __m256 sum) const {
    _mm256_store_ps(out, _mm256_min_ps(high, _mm256_max_ps(low, sum)));
  }

  __m256 taps[kDepthwiseTaps];
  __m256 bias, low, high;
};

using DepthwiseRows = const float* [3];

// Neighboring outputs whose windows lie inside the rows. Pixels are template arguments for the
// reason given in panel_gemm.cpp.
template <int kStride, int... kPixel>
inline void convolve_pixels_depthwise(const DepthwiseRows& rows, int64_t x, const Filter& filter,
                                      float* out) {
  __m256 sums[] = {(static_cast<void>(kPixel), filter.bias)...};
  const auto add_tap = [&](const float* row, int64_t column, __m256 tap) {
    const float* at = row + (x + column) * kBlock;
    ((sums[kPixel] =
          _mm256_fmadd_ps(_mm256_load_ps(at + kPixel * kStride * kBlock), tap, sums[kPixel])),
     ...);
  };
  add_tap(rows[0], 0, filter.taps[0]);
  add_tap(rows[0], 1, filter.taps[1]);
  add_tap(rows[0], 2, filter.taps[2]);
  add_tap(rows[1], 0, filter.taps[3]);
  add_tap(rows[1], 1, filter.taps[4]);
  add_tap(rows[1], 2, filter.taps[5]);
  add_tap(rows[2], 0, filter.taps[6]);
  add_tap(rows[2], 1, filter.taps[7]);
  add_tap(rows[2], 2, filter.taps[8]);
  (filter.store(out + kPixel * kBlock, sums[kPixel]), ...);
}

// The part of one output's window that lies in columns [kBegin, kEnd) of the three.
template <int kBegin, int kEnd>
inline __m256 convolve_columns(const DepthwiseRows& rows, int64_t x, const Filter& filter) {
  __m256 sum = filter.bias;
  for (int j = kBegin; j < kEnd; ++j) {
    for (int i = 0; i < 3; ++i) {
      const __m256 value = _mm256_load_ps(rows[i] + (x + j) * kBlock);
      sum = _mm256_fmadd_ps(value, filter.taps[i * 3 + j], sum);
    }
  }
  return sum;
}

// One output whose window leaves the rows on the left or right.
inline void convolve_edge(const DepthwiseRows& rows, int64_t x, int64_t width, const Filter& filter,
                          float* out) {
  const int64_t begin = std::clamp<int64_t>(-x, 0, 3);
  const int64_t end = std::clamp<int64_t>(width - x, begin, 3);
  __m256 sum = filter.bias;
  if (begin == 1 && end == 3) {
    sum = convolve_columns<1, 3>(rows, x, filter);
  } else if (begin == 0 && end == 2) {
    sum = convolve_columns<0, 2>(rows, x, filter);
  } else if (begin == 0 && end == 1) {
    sum = convolve_columns<0, 1>(rows, x, filter);
  } else if (begin == 1 && end == 2) {
    sum = convolve_columns<1, 2>(rows, x, filter);
  } else if (begin == 2 && end == 3) {
    sum = convolve_columns<2, 3>(rows, x, filter);
  }
  filter.store(out, sum);
}

}  // namespace

DepthwiseProduct::DepthwiseProduct(const DepthwiseShape& shape, Activation activation)
    : shape_(shape), activation_(activation) {
  TY_REQUIRE(cpu_has_avx2_fma(), "depthwise convolution needs a processor with AVX2 and FMA");
  TY_REQUIRE(shape.stride == 1 || shape.stride == 2,
             "depthwise convolution: stride {}, expected 1 or 2", shape.stride);
  TY_REQUIRE(shape.batch > 0 && shape.channels > 0 &&
                 shape.height + shape.pad_top + shape.pad_bottom >= 3 &&
                 shape.width + shape.pad_left + shape.pad_right >= 3,
             "depthwise convolution: empty shape, batch {}, {} channels, {}x{} image", shape.batch,
             shape.channels, shape.height, shape.width);
  TY_REQUIRE(activation.low <= 0 && activation.high >= 0,
             "depthwise convolution: activation range [{}, {}] does not contain zero",
             activation.low, activation.high);
  zeros_ = PackedBuffer(shape.width * kBlock);
}

int64_t DepthwiseProduct::packed_floats() const {
  return divide_up(shape_.channels, kBlock) * kDepthwisePacked;
}

void DepthwiseProduct::pack(const float* weights, const float* bias, bool turned,
                            float* packed) const {
  std::fill_n(packed, packed_floats(), 0.0F);
  for (int64_t c = 0; c < shape_.channels; ++c) {
    float* to = packed + c / kBlock * kDepthwisePacked + c % kBlock;
    for (int64_t tap = 0; tap < kDepthwiseTaps; ++tap) {
      to[(turned ? kDepthwiseTaps - 1 - tap : tap) * kBlock] = weights[c * kDepthwiseTaps + tap];
    }
    if (bias) to[kDepthwiseTaps * kBlock] = bias[c];
  }
}

// Output rows [begin, end) of one image's block of channels.
template <int kStride>
void DepthwiseProduct::convolve_rows(const float* packed, const float* src, int64_t plane,
                                     int64_t begin, int64_t end, float* dst) const {
  const int64_t out_width = shape_.out_width();
  const int64_t row_floats = shape_.width * kBlock;
  const float* in = src + plane * shape_.height * row_floats;
  float* out = dst + (plane * shape_.out_height() + begin) * out_width * kBlock;
  const Filter filter(packed + plane % divide_up(shape_.channels, kBlock) * kDepthwisePacked,
                      activation_);
  // Outputs whose windows lie inside the rows: [first, last).
  const int64_t first = std::min(out_width, divide_up(shape_.pad_left, kStride));
  const int64_t room = shape_.width + shape_.pad_left - 3;
  const int64_t last = std::clamp(room >= 0 ? room / kStride + 1 : 0, first, out_width);
  for (int64_t y = begin; y < end; ++y, out += out_width * kBlock) {
    DepthwiseRows rows;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t row = y * kStride - shape_.pad_top + i;
      rows[i] = row >= 0 && row < shape_.height ? in + row * row_floats : zeros_.data();
    }
    const auto column = [&](int64_t x) { return x * kStride - shape_.pad_left; };
    int64_t x = 0;
    for (; x < first; ++x) {
      convolve_edge(rows, column(x), shape_.width, filter, out + x * kBlock);
    }
    for (; x + 4 <= last; x += 4) {
      convolve_pixels_depthwise<kStride, 0, 1, 2, 3>(rows, column(x), filter, out + x * kBlock);
    }
    float* rest = out + x * kBlock;
    if (last - x == 3) convolve_pixels_depthwise<kStride, 0, 1, 2>(rows, column(x), filter, rest);
    if (last - x == 2) convolve_pixels_depthwise<kStride, 0, 1>(rows, column(x), filter, rest);
    if (last - x == 1) convolve_pixels_depthwise<kStride, 0>(rows, column(x), filter, rest);
    x = last;
    for (; x < out_width; ++x) {
      convolve_edge(rows, column(x), shape_.width, filter, out + x * kBlock);
    }
  }
}

void DepthwiseProduct::run(const float* packed, const float* src, float* dst, int threads) const {
  const int64_t out_height = shape_.out_height();
  const int64_t planes = shape_.batch * divide_up(shape_.channels, kBlock);
  parallel(threads, [&](int id) {
    const Range mine = part_of(planes * out_height, threads, id);
    for (int64_t row = mine.begin; row < mine.end;) {
      const int64_t plane = row / out_height;
      const int64_t end = std::min(mine.end, (plane + 1) * out_height);
      const int64_t y = row % out_height;
      if (shape_.stride == 1) {
        convolve_rows<1>(packed, src, plane, y, y + end - row, dst);
      } else {
        convolve_rows<2>(packed, src, plane, y, y + end - row, dst);
      }
      row = end;
    }
  });
}

}  // namespace trainyard::kernels::native
