// Arithmetic on whole numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace trainyard {

// The quotient rounded up, for a >= 0 and b > 0.
constexpr int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// A number as an integer type has it: cut off, the largest or smallest beyond its range, 0 for what
// is not a number.
template <typename T>
constexpr T within_range(double x) {
  static_assert(std::is_integral_v<T>);
  using Limits = std::numeric_limits<T>;
  if (x != x) return T{0};
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  if (x >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(x);
}

}  // namespace trainyard
