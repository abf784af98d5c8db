// Plain-loop convolution in double, and the blocked layout, for the tests of the native kernels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/cpu.h"

namespace trainyard::kernels::native {

// The tests of kernels that need AVX2 and FMA.
class NativeKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_has_avx2_fma()) GTEST_SKIP() << "this processor lacks AVX2 or FMA";
  }
};

struct ConvCase {
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  int64_t pad_bottom = 0;
  int64_t pad_right = 0;
  int64_t groups = 1;

  int64_t out_height() const { return (height + pad_top + pad_bottom - kernel) / stride + 1; }
  int64_t out_width() const { return (width + pad_left + pad_right - kernel) / stride + 1; }
  int64_t weight_count() const { return out_channels * (in_channels / groups) * kernel * kernel; }
};

// What the shapes of all kernels have: pictures and padding. The caller adds channels and window.
template <typename Shape>
ConvCase case_of_pictures(const Shape& shape) {
  return {.batch = shape.batch,
          .height = shape.height,
          .width = shape.width,
          .pad_top = shape.pad_top,
          .pad_left = shape.pad_left,
          .pad_bottom = shape.pad_bottom,
          .pad_right = shape.pad_right};
}

// Floats aligned for vector loads, as the engine's tensors are.
class AlignedFloats {
 public:
  explicit AlignedFloats(int64_t count, float fill = 0.0F);
  AlignedFloats(AlignedFloats&&) = default;
  AlignedFloats& operator=(AlignedFloats&&) = default;
  float* data() { return begin_; }
  const float* data() const { return begin_; }

 private:
  std::vector<float> storage_;
  float* begin_;
};

std::vector<float> random_floats(int64_t count, std::mt19937& random);

// NCHW to blocks of channels, padding channels zero, and back (padding dropped).
AlignedFloats to_blocked(const std::vector<float>& plain, int64_t batch, int64_t channels,
                         int64_t pixels, int64_t block = 8);
std::vector<float> from_blocked(const AlignedFloats& blocked, int64_t batch, int64_t channels,
                                int64_t pixels, int64_t block = 8);
// Whether every padding channel of a tensor in blocks is exactly zero.
bool padding_is_zero(const AlignedFloats& blocked, int64_t batch, int64_t channels, int64_t pixels,
                     int64_t block = 8);

// NCHW; bias and residual may be empty. The sum before any activation.
std::vector<double> reference_conv(const ConvCase& shape, const std::vector<float>& src,
                                   const std::vector<float>& weights,
                                   const std::vector<float>& bias,
                                   const std::vector<float>& residual);
// Expects that the blocked output of a convolution is `expected`, clipped to the activation's
// range; the tolerance is of its largest value.
void expect_blocked(const ConvCase& shape, const AlignedFloats& out,
                    const std::vector<double>& expected, Activation activation, double tolerance,
                    int64_t block = 8);

}  // namespace trainyard::kernels::native
