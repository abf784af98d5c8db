// What a convolution does to its sum before storing it.
#pragma once

#include <limits>

namespace trainyard::kernels::native {

// y = min(max(x, low), high); NaN stays NaN. Relu is {0, infinity}, Relu6 is {0, 6}. Kernels ask
// for low <= 0 <= high, so that padding channels stay zero.
struct Activation {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

inline constexpr Activation kIdentity = {};
inline constexpr Activation kRelu = {0.0F, std::numeric_limits<float>::infinity()};

}  // namespace trainyard::kernels::native
