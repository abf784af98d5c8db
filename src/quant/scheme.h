// Between reals and steps: real = scale * (step - zero).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::quant {

// Of an activation: steps from 0 to `highest`, of which `zero` stands for 0.
struct Steps {
  float scale = 1;
  int32_t zero = 0;
  int32_t highest = 255;

  double low() const { return -static_cast<double>(scale) * zero; }
  double high() const { return static_cast<double>(scale) * (highest - zero); }
  // The nearest number that has a step.
  double rounded(double x) const;
};

struct Range {
  double low = 0;
  double high = 0;
};

// Steps of `bits` bits (2 to 8) over a range, which is widened to hold 0. Symmetric: the zero is in
// the middle, and the scale is the larger end / (2^(bits-1) - 1). A range of nothing has scale 1.
// Throws Error unless the range is finite.
Steps steps_for(Range range, int64_t bits, bool symmetric);

// How far weights reach: the largest, three standard deviations, or what makes the squared error
// least.
enum class WeightRange : uint8_t { kMax, kThreeSigma, kMse };

struct WeightScheme {
  bool per_channel = true;
  int32_t limit = 127;  // steps from -limit to limit
  WeightRange range = WeightRange::kMax;
};

// The largest step of weights of so many bits; reduced: of 8 bits of which the products of two
// neighbors, added, stay within 16 bits.
int32_t weight_limit(int64_t bits, bool reduced);
// Does this processor add products of 8 bits in 16, so that they need reduced weights? Those with
// VNNI add in 32, unless ONEDNN_MAX_CPU_ISA keeps us from it.
bool products_can_saturate();

struct QuantizedWeights {
  Tensor steps;               // i8, of the weights' shape
  std::vector<float> scales;  // one, or one for each position along the axis

  // What the steps stand for.
  Tensor reals(int64_t axis) const;
};

// Symmetric: step = clamp(round(w / scale)). A channel of zeros gets the scale 1 / limit. Scales
// are not below `least` (one number, or one per channel), so that biases fit 32 bits. Throws Error
// for weights that are not finite.
QuantizedWeights quantize_weights(const Tensor& weights, int64_t axis, const WeightScheme& scheme,
                                  std::span<const double> least = {});

// Steps that a bias may need, with room for the products that are added to it.
inline constexpr double kMostBiasSteps = 1 << 30;

// i32, in steps of input_scale * weight scale. `scales` has one number or one per bias.
Tensor quantize_bias(const Tensor& bias, double input_scale, std::span<const float> scales);

// 10 log10 of signal over noise energy, at most kBestSqnr, which is also what no noise gives.
inline constexpr double kBestSqnr = 120;
double sqnr_db(double signal, double noise);
double sqnr_db(const Tensor& exact, const Tensor& rounded);

}  // namespace trainyard::quant
