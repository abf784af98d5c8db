// Element types. The names are the ones users see; the set is the one ONNX files bring.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  // Kept and converted, not computed with (tensor/narrow.h). A letter pair behind an eight-bit
  // float tells the bits of exponent and mantissa; UZ: one zero, no infinities.
  kF8E4M3,
  kF8E4M3UZ,
  kF8E5M2,
  kF8E5M2UZ,
  kF8E8M0,
  kF4E2M1,
  kI4,
  kU4,
  kI2,
  kU2,
  kText,  // kept, moved and compared (tensor/text.h)
};

// Size of one element in memory, in bytes.
int64_t dtype_size(DType dtype);
// "f32", "i64", "bool", …
std::string_view dtype_name(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // not bool
bool is_narrow(DType dtype);   // eight-bit floats and smaller: kept, not computed with

// Half-precision bits to and from float; rounds to nearest even.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace trainyard
