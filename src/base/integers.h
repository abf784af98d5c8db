// Arithmetic on whole numbers.
#pragma once

#include <cstdint>

namespace trainyard {

// The quotient rounded up, for a >= 0 and b > 0.
constexpr int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace trainyard
