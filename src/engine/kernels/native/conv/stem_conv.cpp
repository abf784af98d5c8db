// The first convolution of an image network.
#include "engine/kernels/native/conv/stem_conv.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

// A few neighboring outputs of one row for one panel.
struct Pixels {
  const float* rows;  // [in_channels * kernel][row_floats], starting at the first pixel's window
  int64_t row_floats;
  int64_t row_count;
  int64_t taps;  // per row
  int64_t stride;
  const float* weights;  // [row][tap][16]
  const float* bias;
  Activation activation;
  float* out0;  // the panel's two blocks
  float* out1;  // null if the panel has one block
};

// Pixels are template arguments for the reason given in panel_gemm.cpp.
template <int... kPixel>
void convolve_pixels_stem_conv(const Pixels& p) {
  const __m256 bias0 = _mm256_load_ps(p.bias);
  const __m256 bias1 = _mm256_load_ps(p.bias + kBlock);
  __m256 sum0[] = {(static_cast<void>(kPixel), bias0)...};
  __m256 sum1[] = {(static_cast<void>(kPixel), bias1)...};
  const float* weights = p.weights;
  const int64_t stride = p.stride;
  for (int64_t row = 0; row < p.row_count; ++row) {
    const float* x = p.rows + row * p.row_floats;
    for (const float* end = x + p.taps; x < end; ++x, weights += kPanelWidth) {
      const __m256 w0 = _mm256_load_ps(weights);
      const __m256 w1 = _mm256_load_ps(weights + kBlock);
      const auto add = [&](const float* value, __m256& to0, __m256& to1) {
        const __m256 all = _mm256_broadcast_ss(value);
        to0 = _mm256_fmadd_ps(all, w0, to0);
        to1 = _mm256_fmadd_ps(all, w1, to1);
      };
      (add(x + kPixel * stride, sum0[kPixel], sum1[kPixel]), ...);
    }
  }
  const __m256 low = _mm256_set1_ps(p.activation.low);
  const __m256 high = _mm256_set1_ps(p.activation.high);
  const auto store = [&](float* out, __m256 sum) {
    _mm256_store_ps(out, _mm256_min_ps(high, _mm256_max_ps(low, sum)));
  };
  (store(p.out0 + kPixel * kBlock, sum0[kPixel]), ...);
  if (p.out1) (store(p.out1 + kPixel * kBlock, sum1[kPixel]), ...);
}

constexpr void (*kConvolvePixels[kPanelRows + 1])(const Pixels&) = {
    nullptr,
    convolve_pixels_stem_conv<0>,
    convolve_pixels_stem_conv<0, 1>,
    convolve_pixels_stem_conv<0, 1, 2>,
    convolve_pixels_stem_conv<0, 1, 2, 3>,
    convolve_pixels_stem_conv<0, 1, 2, 3, 4>,
    convolve_pixels_stem_conv<0, 1, 2, 3, 4, 5>};

}  // namespace

bool stem_conv_pays(const StemShape& shape) {
  constexpr int64_t kLargeWindow = 9;
  return shape.in_channels <= 4 && shape.kernel >= kLargeWindow && shape.out_channels >= kBlock;
}

StemConv::StemConv(const StemShape& shape, const float* weights, const float* bias,
                   Activation activation)
    : shape_(shape), activation_(activation) {
  TY_REQUIRE(cpu_has_avx2_fma(), "stem convolution needs a processor with AVX2 and FMA");
  TY_REQUIRE(
      shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 && shape.stride > 0 &&
          shape.height + shape.pad_top + shape.pad_bottom >= shape.kernel &&
          shape.width + shape.pad_left + shape.pad_right >= shape.kernel,
      "stem convolution: empty shape, batch {}, {} -> {} channels, {}x{} image, {}x{} window",
      shape.batch, shape.in_channels, shape.out_channels, shape.height, shape.width, shape.kernel,
      shape.kernel);
  TY_REQUIRE(activation.low <= 0 && activation.high >= 0,
             "stem convolution: activation range [{}, {}] does not contain zero", activation.low,
             activation.high);
  const int64_t panels = divide_up(shape.out_channels, kPanelWidth);
  const int64_t taps = shape.in_channels * shape.kernel * shape.kernel;
  weights_ = PackedBuffer(panels * taps * kPanelWidth);
  bias_ = PackedBuffer(panels * kPanelWidth);
  if (bias) std::copy_n(bias, shape.out_channels, bias_.data());
  for (int64_t k = 0; k < shape.out_channels; ++k) {
    float* panel = weights_.data() + k / kPanelWidth * taps * kPanelWidth + k % kPanelWidth;
    for (int64_t tap = 0; tap < taps; ++tap) panel[tap * kPanelWidth] = weights[k * taps + tap];
  }
}

// A row with its padding, in whole cache lines.
int64_t StemConv::row_floats() const {
  const int64_t used = (shape_.out_width() - 1) * shape_.stride + shape_.kernel;
  return divide_up(used, kPanelWidth) * kPanelWidth;
}

int64_t StemConv::scratch_bytes(int threads) const {
  return threads * shape_.in_channels * shape_.kernel * row_floats() *
         static_cast<int64_t>(sizeof(float));
}

// The rows that output row y looks at, padding filled in.
void StemConv::copy_rows(const float* image, int64_t y, float* rows) const {
  const int64_t used = (shape_.out_width() - 1) * shape_.stride + shape_.kernel;
  const int64_t left = std::min(shape_.pad_left, used);
  const int64_t copied = std::clamp<int64_t>(shape_.width, 0, used - left);
  for (int64_t c = 0; c < shape_.in_channels; ++c) {
    for (int64_t i = 0; i < shape_.kernel; ++i, rows += row_floats()) {
      const int64_t source = y * shape_.stride - shape_.pad_top + i;
      if (source < 0 || source >= shape_.height) {
        std::fill_n(rows, used, 0.0F);
        continue;
      }
      std::fill_n(rows, left, 0.0F);
      std::copy_n(image + (c * shape_.height + source) * shape_.width, copied, rows + left);
      std::fill(rows + left + copied, rows + used, 0.0F);
    }
  }
}

void StemConv::convolve_row(const float* rows, int64_t image, int64_t y, float* dst) const {
  const int64_t out_width = shape_.out_width();
  const int64_t plane = shape_.out_height() * out_width * kBlock;
  const int64_t out_blocks = divide_up(shape_.out_channels, kBlock);
  const int64_t panels = divide_up(shape_.out_channels, kPanelWidth);
  const int64_t groups = divide_up(out_width, kPanelRows);
  Pixels pixels = {};
  pixels.row_floats = row_floats();
  pixels.row_count = shape_.in_channels * shape_.kernel;
  pixels.taps = shape_.kernel;
  pixels.stride = shape_.stride;
  pixels.activation = activation_;
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t block = panel * (kPanelWidth / kBlock);
    float* out = dst + (image * out_blocks + block) * plane + y * out_width * kBlock;
    pixels.weights = weights_.data() + panel * pixels.row_count * pixels.taps * kPanelWidth;
    pixels.bias = bias_.data() + panel * kPanelWidth;
    for (int64_t group = 0; group < groups; ++group) {
      const Range part = part_of(out_width, groups, group);
      pixels.rows = rows + part.begin * shape_.stride;
      pixels.out0 = out + part.begin * kBlock;
      pixels.out1 = block + 1 < out_blocks ? pixels.out0 + plane : nullptr;
      kConvolvePixels[part.size()](pixels);
    }
  }
}

void StemConv::run(const float* src, float* dst, void* scratch, int threads) const {
  const int64_t image_floats = shape_.in_channels * shape_.height * shape_.width;
  const int64_t buffer_floats = shape_.in_channels * shape_.kernel * row_floats();
  const int64_t out_height = shape_.out_height();
  parallel(threads, [&](int id) {
    float* rows = static_cast<float*>(scratch) + id * buffer_floats;
    const Range mine = part_of(shape_.batch * out_height, threads, id);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      const int64_t image = i / out_height;
      copy_rows(src + image * image_floats, i % out_height, rows);
      convolve_row(rows, image, i % out_height, dst);
    }
  });
}

}  // namespace trainyard::kernels::native
