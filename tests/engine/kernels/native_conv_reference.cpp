// Plain-loop convolution in double, and the blocked layout, for the tests of the native kernels.
#include "engine/kernels/native_conv_reference.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/integers.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kLineFloats = 16;

double sum_at(const ConvCase& s, const float* src, const float* weights, int64_t y, int64_t x) {
  double sum = 0;
  for (int64_t c = 0; c < s.in_channels / s.groups; ++c) {
    for (int64_t i = 0; i < s.kernel; ++i) {
      for (int64_t j = 0; j < s.kernel; ++j) {
        const int64_t row = y * s.stride - s.pad_top + i;
        const int64_t column = x * s.stride - s.pad_left + j;
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
        sum += double{src[(c * s.height + row) * s.width + column]} *
               double{weights[(c * s.kernel + i) * s.kernel + j]};
      }
    }
  }
  return sum;
}

}  // namespace

AlignedFloats::AlignedFloats(int64_t count, float fill)
    : storage_(static_cast<size_t>(count + kLineFloats), fill) {
  constexpr uintptr_t kLineBytes = kLineFloats * sizeof(float);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  begin_ = storage_.data() + (kLineBytes - address % kLineBytes) % kLineBytes / sizeof(float);
}

std::vector<float> random_floats(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

AlignedFloats to_blocked(const std::vector<float>& plain, int64_t batch, int64_t channels,
                         int64_t pixels, int64_t block) {
  const int64_t blocks = divide_up(channels, block);
  AlignedFloats blocked(batch * blocks * pixels * block);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) {
        blocked.data()[((n * blocks + c / block) * pixels + i) * block + c % block] =
            plain[static_cast<size_t>((n * channels + c) * pixels + i)];
      }
    }
  }
  return blocked;
}

std::vector<float> from_blocked(const AlignedFloats& blocked, int64_t batch, int64_t channels,
                                int64_t pixels, int64_t block) {
  const int64_t blocks = divide_up(channels, block);
  std::vector<float> plain(static_cast<size_t>(batch * channels * pixels));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) {
        plain[static_cast<size_t>((n * channels + c) * pixels + i)] =
            blocked.data()[((n * blocks + c / block) * pixels + i) * block + c % block];
      }
    }
  }
  return plain;
}

bool padding_is_zero(const AlignedFloats& blocked, int64_t batch, int64_t channels, int64_t pixels,
                     int64_t block) {
  const int64_t blocks = divide_up(channels, block);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t c = channels; c < blocks * block; ++c) {
        const int64_t plane = n * blocks + c / block;
        if (blocked.data()[(plane * pixels + i) * block + c % block] != 0) return false;
      }
    }
  }
  return true;
}

std::vector<double> reference_conv(const ConvCase& s, const std::vector<float>& src,
                                   const std::vector<float>& weights,
                                   const std::vector<float>& bias,
                                   const std::vector<float>& residual) {
  const int64_t group_in = s.in_channels / s.groups;
  const int64_t group_out = s.out_channels / s.groups;
  std::vector<double> sums;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t k = 0; k < s.out_channels; ++k) {
      const int64_t first = n * s.in_channels + k / group_out * group_in;
      const float* image = src.data() + first * s.height * s.width;
      const float* filter = weights.data() + k * group_in * s.kernel * s.kernel;
      for (int64_t y = 0; y < s.out_height(); ++y) {
        for (int64_t x = 0; x < s.out_width(); ++x) {
          double sum = sum_at(s, image, filter, y, x);
          if (!bias.empty()) sum += double{bias[static_cast<size_t>(k)]};
          if (!residual.empty()) sum += double{residual[sums.size()]};
          sums.push_back(sum);
        }
      }
    }
  }
  return sums;
}

void expect_blocked(const ConvCase& shape, const AlignedFloats& out,
                    const std::vector<double>& expected, Activation activation, double tolerance,
                    int64_t block) {
  const int64_t pixels = shape.out_height() * shape.out_width();
  const auto actual = from_blocked(out, shape.batch, shape.out_channels, pixels, block);
  double scale = 1;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double clipped = std::clamp(expected[i], double{activation.low}, double{activation.high});
    ASSERT_NEAR(actual[i], clipped, tolerance * scale) << "element " << i;
  }
  EXPECT_TRUE(padding_is_zero(out, shape.batch, shape.out_channels, pixels, block));
}

}  // namespace trainyard::kernels::native
