#include "ops/layout/dtype_code.h"

#include <utility>

#include "base/error.h"

namespace trainyard::ops {
namespace {

// onnx.proto, TensorProto.DataType.
constexpr std::pair<int64_t, DType> kCodes[] = {
    {1, DType::kF32},       {2, DType::kU8},      {3, DType::kI8},        {4, DType::kU16},
    {5, DType::kI16},       {6, DType::kI32},     {7, DType::kI64},       {9, DType::kBool},
    {10, DType::kF16},      {11, DType::kF64},    {12, DType::kU32},      {13, DType::kU64},
    {16, DType::kBF16},     {17, DType::kF8E4M3}, {18, DType::kF8E4M3UZ}, {19, DType::kF8E5M2},
    {20, DType::kF8E5M2UZ}, {21, DType::kU4},     {22, DType::kI4},       {23, DType::kF4E2M1},
    {8, DType::kText},      {24, DType::kF8E8M0}, {25, DType::kU2},       {26, DType::kI2},
};

}  // namespace

std::optional<DType> find_dtype(int64_t code) {
  for (const auto& [known, dtype] : kCodes) {
    if (known == code) return dtype;
  }
  return std::nullopt;
}

DType dtype_from_code(int64_t code) {
  const std::optional<DType> dtype = find_dtype(code);
  TY_REQUIRE(dtype, "element type {} of ONNX is not supported", code);
  return *dtype;
}

int64_t dtype_code(DType dtype) {
  for (const auto& [code, known] : kCodes) {
    if (known == dtype) return code;
  }
  TY_CHECK(false, "no code for {}", dtype_name(dtype));
}

}  // namespace trainyard::ops
