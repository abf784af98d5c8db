#include "tensor/narrow.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace trainyard {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Sign, exponent, mantissa. `largest` is the code of the largest number, without sign.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint8_t largest;
  int infinity;      // code without sign; -1: there is none
  int not_a_number;  // code; -1: there is none
  bool one_zero;     // the code of minus zero means something else
};

// Open Compute's OFP8, the "uz" variants of AMD and Graphcore, and OCP's microscaling f4 (ONNX,
// float8 and float4).
const SmallFloat* small_float(DType dtype) {
  static constexpr SmallFloat kE4M3 = {4, 3, 7, 0x7e, -1, 0x7f, false};
  static constexpr SmallFloat kE4M3UZ = {4, 3, 8, 0x7f, -1, 0x80, true};
  static constexpr SmallFloat kE5M2 = {5, 2, 15, 0x7b, 0x7c, 0x7f, false};
  static constexpr SmallFloat kE5M2UZ = {5, 2, 16, 0x7f, -1, 0x80, true};
  static constexpr SmallFloat kE2M1 = {2, 1, 1, 0x7, -1, -1, false};
  switch (dtype) {
    case DType::kF8E4M3:
      return &kE4M3;
    case DType::kF8E4M3UZ:
      return &kE4M3UZ;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E5M2UZ:
      return &kE5M2UZ;
    case DType::kF4E2M1:
      return &kE2M1;
    default:
      return nullptr;
  }
}

uint8_t sign_of(const SmallFloat& type) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(type.exponent_bits + type.mantissa_bits));
}

// Numbers with exponent 0 are subnormal: no hidden one, and the exponent of 1.
float decode_magnitude(const SmallFloat& type, uint8_t code) {
  const int exponent = code >> type.mantissa_bits;
  const int mantissa = code & ((1 << type.mantissa_bits) - 1);
  const int hidden = exponent == 0 ? 0 : 1 << type.mantissa_bits;
  const int scale = (exponent == 0 ? 1 : exponent) - type.bias - type.mantissa_bits;
  return std::ldexp(static_cast<float>(hidden + mantissa), scale);
}

float decode(const SmallFloat& type, uint8_t bits) {
  const uint8_t sign = sign_of(type);
  // In "uz" types the code of minus zero is the only NaN.
  if (type.not_a_number >= 0 && type.one_zero && bits == type.not_a_number) return kNotANumber;
  const auto magnitude = static_cast<uint8_t>(bits & (sign - 1));
  float value = kNotANumber;
  if (magnitude <= type.largest) value = decode_magnitude(type, magnitude);
  if (magnitude == type.infinity) value = kInfinite;
  return (bits & sign) != 0 ? -value : value;
}

// The code of a magnitude in range, rounded to nearest even; above `largest` if it is not.
int encode_magnitude(const SmallFloat& type, float magnitude) {
  if (magnitude == 0) return 0;
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);
  const int smallest = 1 - type.bias;
  const int scale = std::max(exponent - 1, smallest);
  // Steps of the mantissa; rounding up into the next exponent carries by itself.
  const auto steps =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, type.mantissa_bits - scale)));
  return steps + ((scale - smallest) << type.mantissa_bits);
}

uint8_t encode(const SmallFloat& type, float value, bool saturate) {
  const uint8_t sign = std::signbit(value) ? sign_of(type) : uint8_t{0};
  if (std::isnan(value)) {
    if (type.not_a_number < 0) return sign_of(type);  // minus zero, the nearest to nothing
    return static_cast<uint8_t>(type.one_zero ? type.not_a_number : type.not_a_number | sign);
  }
  const float magnitude = std::fabs(value);
  const bool infinite = std::isinf(magnitude);
  // Far above what any of the types holds, where the steps below would overflow an int.
  const int code = infinite || magnitude > 0x1.0p20F ? 0x100 : encode_magnitude(type, magnitude);
  if (code > type.largest) {
    // ONNX's Cast: saturate gives the largest number; without it infinity, or NaN where there is
    // none.
    if (saturate || type.not_a_number < 0) return static_cast<uint8_t>(type.largest | sign);
    if (type.infinity >= 0) return static_cast<uint8_t>(type.infinity | sign);
    return static_cast<uint8_t>(type.one_zero ? type.not_a_number : type.not_a_number | sign);
  }
  if (code == 0 && type.one_zero) return 0;
  return static_cast<uint8_t>(code | sign);
}

constexpr uint8_t kScaleNotANumber = 0xff;
constexpr int kScaleBias = 127;

// f8e8m0: 2 to the power of the byte - 127.
uint8_t encode_scale(float value, const NarrowRule& rule) {
  if (std::isnan(value)) return kScaleNotANumber;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return rule.saturate ? kScaleNotANumber - 1 : kScaleNotANumber;
  if (magnitude == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  --exponent;
  const bool exact = fraction == 0.5F;
  if (rule.round == NarrowRule::Round::kUp && !exact) ++exponent;
  if (rule.round == NarrowRule::Round::kNearest && fraction >= 0.75F) ++exponent;
  const int code = exponent + kScaleBias;
  if (code < 0) return 0;
  if (code >= kScaleNotANumber) return rule.saturate ? kScaleNotANumber - 1 : kScaleNotANumber;
  return static_cast<uint8_t>(code);
}

bool is_signed(DType dtype) {
  return dtype == DType::kI4 || dtype == DType::kI2;
}

}  // namespace

int narrow_bits(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
    case DType::kF8E4M3UZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2UZ:
    case DType::kF8E8M0:
      return 8;
    case DType::kF4E2M1:
    case DType::kI4:
    case DType::kU4:
      return 4;
    case DType::kI2:
    case DType::kU2:
      return 2;
    default:
      return 0;
  }
}

float narrow_to_f32(DType dtype, uint8_t bits) {
  if (const SmallFloat* type = small_float(dtype)) return decode(*type, bits);
  if (dtype == DType::kF8E8M0) {
    return bits == kScaleNotANumber ? kNotANumber : std::ldexp(1.0F, int{bits} - kScaleBias);
  }
  const int width = narrow_bits(dtype);
  TY_CHECK(width > 0 && width < 8, "{} is not narrow", dtype_name(dtype));
  const int value = bits & ((1 << width) - 1);
  const bool negative = is_signed(dtype) && (value >> (width - 1)) != 0;
  return static_cast<float>(negative ? value - (1 << width) : value);
}

uint8_t f32_to_narrow(DType dtype, float value, const NarrowRule& rule) {
  if (const SmallFloat* type = small_float(dtype)) return encode(*type, value, rule.saturate);
  if (dtype == DType::kF8E8M0) return encode_scale(value, rule);
  const int width = narrow_bits(dtype);
  TY_CHECK(width > 0 && width < 8, "{} is not narrow", dtype_name(dtype));
  constexpr float kSafe = 0x1.0p30F;
  // NaN and numbers beyond int have no meaning in the bits of a small integer.
  if (!(std::fabs(value) < kSafe)) return 0;
  // The low bits, as conversions between integers keep them.
  return static_cast<uint8_t>(static_cast<int>(value) & ((1 << width) - 1));
}

// Whole groups of eight first, so that count * bits cannot overflow.
int64_t packed_bytes(DType dtype, int64_t count) {
  const int64_t bits = narrow_bits(dtype);
  return bits == 0 ? count * dtype_size(dtype) : (count / 8) * bits + (count % 8 * bits + 7) / 8;
}

// The first element is in the lowest bits (ONNX).
void unpack_narrow(DType dtype, std::span<const uint8_t> packed, std::span<uint8_t> elements) {
  const auto width = static_cast<size_t>(narrow_bits(dtype));
  const size_t per_byte = 8 / width;
  const auto mask = static_cast<uint8_t>((1U << width) - 1);
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<uint8_t>(packed[i / per_byte] >> (i % per_byte * width) & mask);
  }
}

void pack_narrow(DType dtype, std::span<const uint8_t> elements, std::span<uint8_t> packed) {
  const auto width = static_cast<size_t>(narrow_bits(dtype));
  const size_t per_byte = 8 / width;
  const auto mask = static_cast<uint8_t>((1U << width) - 1);
  for (uint8_t& byte : packed) byte = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto bits = static_cast<unsigned>(elements[i] & mask);
    packed[i / per_byte] |= static_cast<uint8_t>(bits << (i % per_byte * width));
  }
}

}  // namespace trainyard
