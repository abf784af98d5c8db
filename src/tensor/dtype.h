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
};

// Size of one element in bytes.
int64_t dtype_size(DType dtype);
// "f32", "i64", "bool", …
std::string_view dtype_name(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // not bool

// Half-precision bits to and from float; rounds to nearest even.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace trainyard
