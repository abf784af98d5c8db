#include "quant/scheme.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/kernels/native/cpu.h"

namespace trainyard::quant {
namespace {

// Positions of one channel in a row-major tensor: blocks of `inner`, every `inner * channels`.
struct ChannelWalk {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;

  ChannelWalk(const Shape& shape, int64_t axis, bool per_channel) {
    if (!per_channel) {
      inner = shape.num_elements();
      return;
    }
    outer = shape.num_elements(0, axis);
    channels = shape[axis];
    inner = shape.num_elements(axis + 1, shape.rank());
  }

  template <typename Visit>
  void each(int64_t channel, const Visit& visit) const {
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t begin = (o * channels + channel) * inner;
      for (int64_t i = begin; i < begin + inner; ++i) visit(static_cast<size_t>(i));
    }
  }
};

double squared_error(std::span<const float> values, const ChannelWalk& walk, int64_t channel,
                     double scale, int32_t limit) {
  double error = 0;
  walk.each(channel, [&](size_t i) {
    const double step = std::clamp<double>(std::nearbyint(values[i] / scale), -limit, limit);
    const double off = values[i] - scale * step;
    error += off * off;
  });
  return error;
}

// How far the weights of a channel are to reach.
double reach(std::span<const float> values, const ChannelWalk& walk, int64_t channel,
             const WeightScheme& scheme) {
  double largest = 0;
  double squares = 0;
  int64_t count = 0;
  walk.each(channel, [&](size_t i) {
    largest = std::max(largest, std::fabs(double{values[i]}));
    squares += double{values[i]} * double{values[i]};
    ++count;
  });
  // About zero, since symmetric steps are; not about the mean.
  if (scheme.range == WeightRange::kThreeSigma && count > 1) {
    return std::min(largest, 3 * std::sqrt(squares / static_cast<double>(count)));
  }
  if (scheme.range != WeightRange::kMse || largest == 0) return largest;
  // 40 clipping points from all of the range down to 30 % of it.
  constexpr int kShares = 40;
  constexpr double kLeastShare = 0.3;
  double best = largest;
  double least = squared_error(values, walk, channel, largest / scheme.limit, scheme.limit);
  for (int k = 1; k < kShares; ++k) {
    const double candidate = largest * (1 - (1 - kLeastShare) * k / kShares);
    const double error =
        squared_error(values, walk, channel, candidate / scheme.limit, scheme.limit);
    if (error < least) {
      least = error;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

double Steps::rounded(double x) const {
  const double step = std::nearbyint(x / scale) + zero;
  return (std::clamp<double>(step, 0, highest) - zero) * scale;
}

Steps steps_for(Range range, int64_t bits, bool symmetric) {
  TY_REQUIRE(std::isfinite(range.low) && std::isfinite(range.high),
             "a range from {} to {} cannot be divided into steps", range.low, range.high);
  // 0 must have a step of its own: padding and ReLU make exact zeros.
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  Steps steps;
  steps.highest = (1 << bits) - 1;
  const int32_t middle = 1 << (bits - 1);
  if (symmetric) {
    const double largest = std::max(-low, high);
    steps.zero = middle;
    if (largest > 0) steps.scale = static_cast<float>(largest / (middle - 1));
  } else if (high > low) {
    steps.scale = static_cast<float>((high - low) / steps.highest);
    steps.zero = static_cast<int32_t>(
        std::clamp<double>(std::nearbyint(-low / steps.scale), 0, steps.highest));
  }
  // Ranges of denormal numbers: a scale must be a normal one to divide by.
  if (!std::isnormal(steps.scale)) steps.scale = 1;
  return steps;
}

bool products_can_saturate() {
  return !kernels::native::cpu_has_avx512_vnni();
}

// 127 * 255 * 2 does not fit 16 bits, 64 * 255 * 2 does: the sum of two products in vpmaddubsw.
int32_t weight_limit(int64_t bits, bool reduced) {
  if (bits >= 8 && reduced) return 64;
  return (1 << (bits - 1)) - 1;
}

Tensor QuantizedWeights::reals(int64_t axis) const {
  Tensor reals(DType::kF32, steps.shape());
  const ChannelWalk walk(steps.shape(), axis, scales.size() > 1);
  for (int64_t c = 0; c < walk.channels; ++c) {
    walk.each(c, [&](size_t i) {
      reals.values<float>()[i] =
          static_cast<float>(steps.values<int8_t>()[i]) * scales[static_cast<size_t>(c)];
    });
  }
  return reals;
}

QuantizedWeights quantize_weights(const Tensor& weights, int64_t axis, const WeightScheme& scheme,
                                  std::span<const double> least) {
  const std::span<const float> values = weights.values<float>();
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float w) { return !std::isfinite(w); });
  TY_REQUIRE(bad == values.end(), "weight {} of {} is {}, which has no step", bad - values.begin(),
             values.size(), *bad);
  const ChannelWalk walk(weights.shape(), axis, scheme.per_channel);
  QuantizedWeights result;
  result.steps = Tensor(DType::kI8, weights.shape());
  const std::span<int8_t> steps = result.steps.values<int8_t>();
  for (int64_t c = 0; c < walk.channels; ++c) {
    double scale = reach(values, walk, c, scheme) / scheme.limit;
    if (!least.empty())
      scale = std::max(scale, least[least.size() > 1 ? static_cast<size_t>(c) : 0]);
    auto chosen = static_cast<float>(scale);
    // Zeros and denormal weights: any scale does, as all steps are 0.
    if (!std::isnormal(chosen)) chosen = 1.0F / static_cast<float>(scheme.limit);
    result.scales.push_back(chosen);
    walk.each(c, [&](size_t i) {
      steps[i] = static_cast<int8_t>(std::clamp<float>(std::nearbyint(values[i] / chosen),
                                                       static_cast<float>(-scheme.limit),
                                                       static_cast<float>(scheme.limit)));
    });
  }
  return result;
}

Tensor quantize_bias(const Tensor& bias, double input_scale, std::span<const float> scales) {
  Tensor steps(DType::kI32, Shape{bias.num_elements()});
  for (int64_t i = 0; i < bias.num_elements(); ++i) {
    const double scale =
        input_scale * double{scales[scales.size() > 1 ? static_cast<size_t>(i) : 0]};
    const double step = std::nearbyint(element_as_double(bias, i) / scale);
    // Clamped to what int32_t holds, short of its ends.
    steps.values<int32_t>()[static_cast<size_t>(i)] =
        static_cast<int32_t>(std::clamp(step, -2 * kMostBiasSteps + 1, 2 * kMostBiasSteps - 1));
  }
  return steps;
}

double sqnr_db(double signal, double noise) {
  if (noise <= 0 || signal <= 0) return noise <= 0 ? kBestSqnr : 0;
  return std::min(kBestSqnr, 10 * std::log10(signal / noise));
}

double sqnr_db(const Tensor& exact, const Tensor& rounded) {
  double signal = 0;
  double noise = 0;
  const std::span<const float> a = exact.values<float>();
  const std::span<const float> b = rounded.values<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const double off = double{a[i]} - double{b[i]};
    signal += double{a[i]} * double{a[i]};
    noise += off * off;
  }
  return sqnr_db(signal, noise);
}

}  // namespace trainyard::quant
