#include "tensor/dtype.h"

#include <array>
#include <bit>

namespace trainyard {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t size;
};

constexpr std::array<Row, 24> kRows = {{
    {DType::kF32, "f32", 4},
    {DType::kF64, "f64", 8},
    {DType::kF16, "f16", 2},
    {DType::kBF16, "bf16", 2},
    {DType::kI8, "i8", 1},
    {DType::kI16, "i16", 2},
    {DType::kI32, "i32", 4},
    {DType::kI64, "i64", 8},
    {DType::kU8, "u8", 1},
    {DType::kU16, "u16", 2},
    {DType::kU32, "u32", 4},
    {DType::kU64, "u64", 8},
    {DType::kBool, "bool", 1},
    {DType::kF8E4M3, "f8e4m3", 1},
    {DType::kF8E4M3UZ, "f8e4m3uz", 1},
    {DType::kF8E5M2, "f8e5m2", 1},
    {DType::kF8E5M2UZ, "f8e5m2uz", 1},
    {DType::kF8E8M0, "f8e8m0", 1},
    {DType::kF4E2M1, "f4e2m1", 1},
    {DType::kI4, "i4", 1},
    {DType::kU4, "u4", 1},
    {DType::kI2, "i2", 1},
    {DType::kU2, "u2", 1},
    {DType::kText, "text", 8},
}};

}  // namespace

int64_t dtype_size(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].size;
}

std::string_view dtype_name(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].name;
}

bool is_float(DType dtype) {
  return dtype <= DType::kBF16;
}

bool is_integer(DType dtype) {
  return dtype >= DType::kI8 && dtype <= DType::kU64;
}

bool is_narrow(DType dtype) {
  return dtype > DType::kBool && dtype < DType::kText;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  constexpr uint32_t kInfinity = 0x7f800000U;
  constexpr uint32_t kOverflow = 0x477ff000U;  // rounds to 65536 or above
  constexpr uint32_t kSmallest = 0x38800000U;  // 2^-14, the smallest normal half
  if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= kOverflow) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < kSmallest) {
    // Adding 0.5 leaves the rounded subnormal mantissa in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace trainyard
