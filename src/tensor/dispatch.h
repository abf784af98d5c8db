// From an element type known at run time to a C++ type.
#pragma once

#include "base/error.h"
#include "tensor/half.h"

namespace trainyard {

// Returns f(T{}) with the C++ type of `dtype`; f is a lambda [&]<typename T>(T). Throws Error for a
// narrow type.
template <typename F>
decltype(auto) for_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kBool:
      return f(bool{});
    default:
      throw_error("elements of type {} are kept and converted, not computed with",
                  dtype_name(dtype));
  }
}

// The same for the float types alone; throws Error for others.
template <typename F>
decltype(auto) for_float_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    default:
      throw_error("elements are {}, expected floating-point numbers", dtype_name(dtype));
  }
}

}  // namespace trainyard
