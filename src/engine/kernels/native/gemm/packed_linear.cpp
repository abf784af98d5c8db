// A fully connected layer on a small batch, with weights packed once.
#include "engine/kernels/native/gemm/packed_linear.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

// Inputs multiplied at a time: 16 KiB of a panel, which stay in the first-level cache while every
// group of rows is multiplied by them.
constexpr int64_t kPackedLinearChunk = 256;

}  // namespace

bool packed_linear_pays(const LinearShape& shape) {
  constexpr int64_t kMinRows = 2;
  constexpr int64_t kMaxRows = 16;
  return shape.rows >= kMinRows && shape.rows <= kMaxRows && shape.outputs >= kPanelWidth;
}

PackedLinear::PackedLinear(const LinearShape& shape, const float* weights, int64_t output_stride,
                           int64_t input_stride, const float* bias, Activation activation)
    : shape_(shape), activation_(activation) {
  TY_REQUIRE(cpu_has_avx2_fma(), "packed linear layer needs a processor with AVX2 and FMA");
  TY_REQUIRE(shape.rows > 0 && shape.inputs > 0 && shape.outputs > 0,
             "packed linear layer: empty shape, {} rows, {} inputs, {} outputs", shape.rows,
             shape.inputs, shape.outputs);
  const int64_t panels = divide_up(shape.outputs, kPanelWidth);
  weights_ = PackedBuffer(panels * shape.inputs * kPanelWidth);
  bias_ = PackedBuffer(panels * kPanelWidth);
  if (bias) std::copy_n(bias, shape.outputs, bias_.data());
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t first = panel * kPanelWidth;
    const int64_t width = std::min(kPanelWidth, shape.outputs - first);
    float* packed = weights_.data() + first * shape.inputs;
    for (int64_t c = 0; c < shape.inputs; ++c) {
      for (int64_t k = 0; k < width; ++k) {
        packed[c * kPanelWidth + k] = weights[(first + k) * output_stride + c * input_stride];
      }
    }
  }
}

int64_t PackedLinear::scratch_bytes(int threads) const {
  const int64_t blocked = divide_up(shape_.inputs, kBlock) * kBlock * shape_.rows;
  return (divide_up(blocked, kPanelWidth) * kPanelWidth + threads * 2 * kPanelWidth * shape_.rows) *
         static_cast<int64_t>(sizeof(float));
}

void PackedLinear::multiply_panel(const float* blocked, int64_t panel, float* sums,
                                  float* y) const {
  const int64_t panel_sums = kPanelWidth * shape_.rows;
  float* part = sums + panel_sums;
  std::fill_n(sums, panel_sums, 0.0F);
  for (int64_t begin = 0; begin < shape_.inputs; begin += kPackedLinearChunk) {
    const float* weights = weights_.data() + (panel * shape_.inputs + begin) * kPanelWidth;
    const int64_t count = std::min(kPackedLinearChunk, shape_.inputs - begin);
    panel_gemm(blocked + begin * shape_.rows, shape_.rows * kBlock, shape_.rows, weights, count,
               weights + count * kPanelWidth, part, shape_.rows * kBlock);
    for (int64_t i = 0; i < panel_sums; ++i) sums[i] += part[i];
  }
  const int64_t first = panel * kPanelWidth;
  const int64_t width = std::min(kPanelWidth, shape_.outputs - first);
  for (int64_t row = 0; row < shape_.rows; ++row) {
    for (int64_t k = 0; k < width; ++k) {
      const float sum =
          sums[(k / kBlock * shape_.rows + row) * kBlock + k % kBlock] + bias_.data()[first + k];
      y[row * shape_.outputs + first + k] =
          std::min(std::max(sum, activation_.low), activation_.high);
    }
  }
}

void PackedLinear::run(const float* x, float* y, void* scratch, int threads) const {
  const int64_t blocks = divide_up(shape_.inputs, kBlock);
  float* blocked = static_cast<float*>(scratch);
  float* sums = blocked + divide_up(blocks * kBlock * shape_.rows, kPanelWidth) * kPanelWidth;
  // [block of 8 inputs][row][8]; the multiplication never reads past the last input.
  for (int64_t row = 0; row < shape_.rows; ++row) {
    for (int64_t c = 0; c < shape_.inputs; ++c) {
      blocked[(c / kBlock * shape_.rows + row) * kBlock + c % kBlock] = x[row * shape_.inputs + c];
    }
  }
  parallel(threads, [&](int id) {
    const Range mine = part_of(divide_up(shape_.outputs, kPanelWidth), threads, id);
    for (int64_t panel = mine.begin; panel < mine.end; ++panel) {
      multiply_panel(blocked, panel, sums + id * 2 * kPanelWidth * shape_.rows, y);
    }
  });
}

}  // namespace trainyard::kernels::native
