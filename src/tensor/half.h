// Half-precision elements as C++ types: stored in 16 bits, computed in float.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/dtype.h"

namespace trainyard {

// Uninitialized by default, like the built-in types.
struct F16 {
  uint16_t bits;

  F16() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit F16(T value) : bits(f32_to_f16(static_cast<float>(value))) {}
  operator float() const { return f16_to_f32(bits); }
};

struct BF16 {
  uint16_t bits;

  BF16() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit BF16(T value) : bits(f32_to_bf16(static_cast<float>(value))) {}
  operator float() const { return bf16_to_f32(bits); }
};

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

}  // namespace trainyard

// Infinities stand in for the extremes, so that max(), lowest() and infinity() bound every element.
template <>
struct std::numeric_limits<trainyard::F16> {
  static constexpr bool is_specialized = true;
  static constexpr bool has_infinity = true;
  static trainyard::F16 infinity() { return trainyard::F16(numeric_limits<float>::infinity()); }
  static trainyard::F16 quiet_NaN() { return trainyard::F16(numeric_limits<float>::quiet_NaN()); }
  static trainyard::F16 max() { return infinity(); }
  static trainyard::F16 lowest() { return trainyard::F16(-numeric_limits<float>::infinity()); }
};

template <>
struct std::numeric_limits<trainyard::BF16> {
  static constexpr bool is_specialized = true;
  static constexpr bool has_infinity = true;
  static trainyard::BF16 infinity() { return trainyard::BF16(numeric_limits<float>::infinity()); }
  static trainyard::BF16 quiet_NaN() { return trainyard::BF16(numeric_limits<float>::quiet_NaN()); }
  static trainyard::BF16 max() { return infinity(); }
  static trainyard::BF16 lowest() { return trainyard::BF16(-numeric_limits<float>::infinity()); }
};
