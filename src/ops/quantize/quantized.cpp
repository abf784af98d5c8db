#include "ops/quantize/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::ops {

StepsToBytes result_bytes(const NodeView& node) {
  return {.zero = node.attr_int("y_zero", 0),
          .low = node.attr_int("low", 0),
          .high = node.attr_int("high", 255)};
}

StepsToBytes summed_bytes(const NodeView& node) {
  return {.zero = node.attr_int("out_zero", 0),
          .low = node.attr_int("out_low", 0),
          .high = node.attr_int("out_high", 255)};
}

uint8_t to_byte(float steps, const StepsToBytes& bytes) {
  const auto low = static_cast<float>(bytes.low - bytes.zero);
  const auto high = static_cast<float>(bytes.high - bytes.zero);
  const float kept = std::fmin(std::fmax(std::nearbyint(steps), low), high);
  return static_cast<uint8_t>(static_cast<int64_t>(kept) + bytes.zero);
}

bool sums_fit(std::span<const int8_t> weights, int64_t depth, std::span<const int32_t> bias,
              std::span<const float> multiplier, int64_t x_zero) {
  constexpr int64_t kLargestByte = 255;
  constexpr auto kLimit = int64_t{std::numeric_limits<int32_t>::max()};
  constexpr int64_t kMostSteps = kLimit / 2;
  for (size_t channel = 0; channel < bias.size(); ++channel) {
    int64_t sum = 0;
    int64_t magnitude = 0;
    for (const int8_t w :
         weights.subspan(channel * static_cast<size_t>(depth), static_cast<size_t>(depth))) {
      sum += w;
      magnitude += std::abs(int64_t{w});
    }
    const int64_t start = std::abs(bias[channel] - x_zero * sum);
    const int64_t largest = start + std::abs(int64_t{bias[channel]}) + kLargestByte * magnitude;
    if (largest > kLimit) return false;
    const double steps = static_cast<double>(largest) * double{multiplier[channel]};
    if (!(multiplier[channel] > 0) || !(steps < static_cast<double>(kMostSteps))) return false;
  }
  return true;
}

}  // namespace trainyard::ops
