// The gradient of the first convolution's weights.
#include "engine/kernels/native/conv/stem_weight_gradient.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

// Sums of their own per part of the batch, not per thread, so that the order of additions does not
// depend on the number of threads.
constexpr int64_t kMostParts = 8;
constexpr int64_t kMostSums = 12;  // of 16 registers

// Aligned for vectors, and threads do not share a cache line.
int64_t whole_lines(int64_t floats) {
  constexpr int64_t kLine = 16;
  return divide_up(floats, kLine) * kLine;
}

// Adds to sums[block][weight][8] the products of one row of outputs with the inputs that some
// weights see. Weights are template arguments for the reason given in panel_gemm.cpp.
template <int kBlocks, size_t... kWeight>
void add_row_stem_weight_gradient(const float* x, const int64_t* offsets, int64_t stride,
                                  const float* dy, int64_t dy_stride, int64_t width, float* sums,
                                  int64_t sums_stride, std::index_sequence<kWeight...>) {
  const float* const inputs[] = {x + offsets[kWeight]...};
  __m256 sum0[] = {(static_cast<void>(kWeight), _mm256_setzero_ps())...};
  __m256 sum1[] = {(static_cast<void>(kWeight), _mm256_setzero_ps())...};
  for (int64_t at = 0; at < width; ++at) {
    const __m256 dy0 = _mm256_load_ps(dy + at * kBlock);
    const __m256 dy1 =
        kBlocks == 2 ? _mm256_load_ps(dy + dy_stride + at * kBlock) : _mm256_setzero_ps();
    const auto add = [&](const float* input, __m256& to0, __m256& to1) {
      const __m256 value = _mm256_broadcast_ss(input + at * stride);
      to0 = _mm256_fmadd_ps(value, dy0, to0);
      if (kBlocks == 2) to1 = _mm256_fmadd_ps(value, dy1, to1);
    };
    (add(inputs[kWeight], sum0[kWeight], sum1[kWeight]), ...);
  }
  const auto store = [](float* to, __m256 sum) {
    _mm256_store_ps(to, _mm256_add_ps(_mm256_load_ps(to), sum));
  };
  (store(sums + static_cast<int64_t>(kWeight) * kBlock, sum0[kWeight]), ...);
  if (kBlocks == 2) {
    (store(sums + sums_stride + static_cast<int64_t>(kWeight) * kBlock, sum1[kWeight]), ...);
  }
}

using AddRow = void (*)(const float* x, const int64_t* offsets, int64_t stride, const float* dy,
                        int64_t dy_stride, int64_t width, float* sums, int64_t sums_stride);

template <int kBlocks, size_t kWeights>
void add_row_of(const float* x, const int64_t* offsets, int64_t stride, const float* dy,
                int64_t dy_stride, int64_t width, float* sums, int64_t sums_stride) {
  add_row_stem_weight_gradient<kBlocks>(x, offsets, stride, dy, dy_stride, width, sums, sums_stride,
                                        std::make_index_sequence<kWeights>());
}

// By number of weights, less one.
template <int kBlocks, size_t... kWeights>
constexpr std::array<AddRow, sizeof...(kWeights)> add_rows(std::index_sequence<kWeights...>) {
  return {add_row_of<kBlocks, kWeights + 1>...};
}

constexpr auto kAddOneBlock = add_rows<1>(std::make_index_sequence<kMostSums>());
constexpr auto kAddTwoBlocks = add_rows<2>(std::make_index_sequence<kMostSums / 2>());

}  // namespace

bool stem_weight_gradient_pays(const StemShape& shape) {
  return shape.in_channels == 1 || (shape.in_channels <= 4 && shape.kernel > 3);
}

StemWeightGradient::StemWeightGradient(const StemShape& shape, int threads)
    : shape_(shape),
      threads_(threads),
      parts_(std::min(shape.batch, kMostParts)),
      blocks_(divide_up(shape.out_channels, kBlock)) {
  TY_REQUIRE(cpu_has_avx2_fma(), "stem weight gradient needs a processor with AVX2 and FMA");
  TY_REQUIRE(shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 &&
                 shape.kernel > 0 && padded_height() >= shape.kernel &&
                 padded_width() >= shape.kernel,
             "stem weight gradient: empty shape, batch {}, {} -> {} channels, {}x{} image",
             shape.batch, shape.in_channels, shape.out_channels, shape.height, shape.width);
  // In the order in which dw has its weights: row, column, channel.
  for (int64_t i = 0; i < shape.kernel; ++i) {
    for (int64_t j = 0; j < shape.kernel; ++j) {
      for (int64_t c = 0; c < shape.in_channels; ++c) {
        offsets_.push_back((c * padded_height() + i) * padded_width() + j);
      }
    }
  }
}

int64_t StemWeightGradient::padded_floats() const {
  return whole_lines(shape_.in_channels * padded_height() * padded_width());
}

int64_t StemWeightGradient::sum_floats() const {
  return whole_lines(blocks_ * static_cast<int64_t>(offsets_.size()) * kBlock);
}

int64_t StemWeightGradient::scratch_bytes() const {
  return (threads_ * padded_floats() + parts_ * sum_floats()) * static_cast<int64_t>(sizeof(float));
}

// Padding is copied in, so that the inner loop has no borders to test.
void StemWeightGradient::copy_padded(const float* image, float* padded) const {
  const int64_t width = padded_width();
  for (int64_t c = 0; c < shape_.in_channels; ++c) {
    for (int64_t y = 0; y < padded_height(); ++y, padded += width) {
      const int64_t row = y - shape_.pad_top;
      if (row < 0 || row >= shape_.height) {
        std::fill_n(padded, width, 0.0F);
        continue;
      }
      std::fill_n(padded, shape_.pad_left, 0.0F);
      std::copy_n(image + (c * shape_.height + row) * shape_.width, shape_.width,
                  padded + shape_.pad_left);
      std::fill_n(padded + shape_.pad_left + shape_.width, shape_.pad_right, 0.0F);
    }
  }
}

void StemWeightGradient::add_image(const float* padded, const float* dy, float* sums) const {
  const auto weights = static_cast<int64_t>(offsets_.size());
  const int64_t width = shape_.out_width();
  const int64_t plane = shape_.out_height() * width * kBlock;
  for (int64_t y = 0; y < shape_.out_height(); ++y) {
    const float* x = padded + y * shape_.stride * padded_width();
    // Two blocks of outputs at a time, as each input is then loaded once for 16 channels.
    for (int64_t block = 0; block < blocks_; block += 2) {
      const bool two = block + 1 < blocks_;
      const int64_t groups = divide_up(weights, two ? kMostSums / 2 : kMostSums);
      for (int64_t group = 0; group < groups; ++group) {
        // Parts of about equal size: all groups then keep most registers busy.
        const Range mine = part_of(weights, groups, group);
        const auto index = static_cast<size_t>(mine.size() - 1);
        (two ? kAddTwoBlocks[index] : kAddOneBlock[index])(
            x, offsets_.data() + mine.begin, shape_.stride, dy + block * plane + y * width * kBlock,
            plane, width, sums + (block * weights + mine.begin) * kBlock, weights * kBlock);
      }
    }
  }
}

void StemWeightGradient::run(const float* src, const float* dy, float* dw, void* scratch) const {
  const int64_t image = shape_.in_channels * shape_.height * shape_.width;
  const int64_t dy_image = blocks_ * kBlock * shape_.out_height() * shape_.out_width();
  float* sums = static_cast<float*>(scratch) + threads_ * padded_floats();
  parallel(threads_, [&](int id) {
    float* padded = static_cast<float*>(scratch) + id * padded_floats();
    const Range mine = part_of(parts_, threads_, id);
    for (int64_t part = mine.begin; part < mine.end; ++part) {
      float* own = sums + part * sum_floats();
      std::fill_n(own, sum_floats(), 0.0F);
      const Range images = part_of(shape_.batch, parts_, part);
      for (int64_t n = images.begin; n < images.end; ++n) {
        copy_padded(src + n * image, padded);
        add_image(padded, dy + n * dy_image, own);
      }
    }
  });
  // One thread: there are few sums beside the products that made them.
  const int64_t count = blocks_ * static_cast<int64_t>(offsets_.size()) * kBlock;
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int64_t part = 0; part < parts_; ++part) sum += sums[part * sum_floats() + i];
    dw[i] = sum;
  }
}

}  // namespace trainyard::kernels::native
