// Eight-bit operands with their scales and zero points, as the quantized kernels read and write
// them.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/kernels/reference/operands.h"
#include "ops/quantize/quantization.h"

namespace trainyard::kernels::reference {

// The elements of a u8 or i8 tensor as integers. One element counts for every index; an absent
// tensor is all zeros.
class EightBits {
 public:
  explicit EightBits(const TensorView& view)
      : data_(view.data),
        signed_(view.dtype == DType::kI8),
        step_(view.data == nullptr || view.num_elements() == 1 ? 0 : 1) {}

  int64_t operator[](int64_t i) const {
    if (data_ == nullptr) return 0;
    return signed_ ? int64_t{static_cast<const int8_t*>(data_)[i * step_]}
                   : int64_t{static_cast<const uint8_t*>(data_)[i * step_]};
  }

 private:
  const void* data_;
  bool signed_;
  int64_t step_;
};

// The elements of a float tensor; one element counts for every index.
class Scales {
 public:
  explicit Scales(const TensorView& view) : view_(view), step_(view.num_elements() == 1 ? 0 : 1) {}

  double operator[](int64_t i) const { return float_at(view_, i * step_); }

 private:
  TensorView view_;
  int64_t step_;
};

// Stores the nearest integer (ties to even) plus the zero point, clamped to what u8 or i8 hold; NaN
// becomes the smallest.
inline void store_eight_bits(const TensorView& y, int64_t i, double steps, int64_t zero_point) {
  const double value = std::nearbyint(steps) + static_cast<double>(zero_point);
  if (y.dtype == DType::kI8) {
    y.as<int8_t>()[i] = static_cast<int8_t>(std::fmin(std::fmax(value, -128.0), 127.0));
  } else {
    y.as<uint8_t>()[i] = static_cast<uint8_t>(std::fmin(std::fmax(value, 0.0), 255.0));
  }
}

// What follows exact sums: scaled, then shifted, each rounded to f32 (ops::require_scaling).
class Scaling {
 public:
  explicit Scaling(const KernelArgs& args)
      : scale_(args.inputs[ops::kScalingFactor]),
        bias_(input_or_none(args, ops::kScalingBias).as<const float>()) {}

  float operator()(int64_t sum, int64_t channel) const {
    const float scaled =
        static_cast<float>(static_cast<int32_t>(sum)) * static_cast<float>(scale_[channel]);
    return bias_ == nullptr ? scaled : scaled + bias_[channel];
  }

 private:
  Scales scale_;
  const float* bias_;
};

}  // namespace trainyard::kernels::reference
