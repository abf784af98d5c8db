// The cubic convolution kernel (Keys 1981) that Resize and GridSample interpolate with.
#pragma once

#include <array>

namespace trainyard::kernels::reference {

// Weights of the four neighbors at distances 1 + t, t, 1 - t and 2 - t; 0 <= t < 1.
inline std::array<double, 4> cubic_weights(double t, double a) {
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

}  // namespace trainyard::kernels::reference
