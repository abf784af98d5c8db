#include "engine/kernels/native/int8/step_order.h"

#include <algorithm>
#include <limits>

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kHalves = kDepthStep / 2;  // products that are added in 16 bits first
// Steps that are looked at for a partner; most of the time the first will do.
constexpr size_t kSearched = 16;
constexpr int kMostWeights = std::numeric_limits<int16_t>::max() / 255;  // in a sum of one sign

// What the weights of a step reach upwards and downwards, for each channel and half.
std::vector<uint8_t> reaches_of(const TapWeights& tap) {
  std::vector<uint8_t> reaches;
  for (int64_t step = 0; step < tap.steps; ++step) {
    for (int64_t channel = 0; channel < tap.channels; ++channel) {
      const int8_t* weights = tap.weights.data() + (channel * tap.steps + step) * kDepthStep;
      for (int64_t half = 0; half < kHalves; ++half) {
        const int a = weights[2 * half];
        const int b = weights[2 * half + 1];
        reaches.push_back(static_cast<uint8_t>(std::max(a, 0) + std::max(b, 0)));
        reaches.push_back(static_cast<uint8_t>(std::max(-a, 0) + std::max(-b, 0)));
      }
    }
  }
  return reaches;
}

}  // namespace

StepOrder order_steps(const TapWeights& tap, int64_t steps) {
  const std::vector<uint8_t> reaches = reaches_of(tap);
  const int64_t width = tap.channels * kHalves * 2;
  const auto fit = [&](int32_t a, int32_t b) {
    const uint8_t* of_a = reaches.data() + a * width;
    return std::equal(of_a, of_a + width, reaches.data() + b * width,
                      [](uint8_t x, uint8_t y) { return x + y <= kMostWeights; });
  };
  StepOrder order;
  std::vector<int32_t> waiting;
  for (int32_t step = 0; step < steps; ++step) {
    const auto partner = std::find_if(waiting.begin(), waiting.end(),
                                      [&](int32_t other) { return fit(other, step); });
    if (partner != waiting.end()) {
      order.pairs.insert(order.pairs.end(), {*partner, step});
      waiting.erase(partner);
      continue;
    }
    waiting.push_back(step);
    if (waiting.size() > kSearched) {
      order.singles.push_back(waiting.front());
      waiting.erase(waiting.begin());
    }
  }
  order.singles.insert(order.singles.end(), waiting.begin(), waiting.end());
  return order;
}

}  // namespace trainyard::kernels::native
