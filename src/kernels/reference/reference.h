// What the reference kernels share. They are plain loops over row-major data with double
// accumulation: the meaning of each operator, slow and obvious. They never refuse.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "kernels/kernel.h"

namespace trainyard::kernels::reference {

template <typename K>
std::unique_ptr<Kernel> create_kernel(const NodeView& node) {
  return std::make_unique<K>(node);
}

template <typename K>
constexpr KernelDef reference_kernel(std::string_view op) {
  return {.op = op, .library = "reference", .create = create_kernel<K>};
}

// Calls f(T{}) with the C++ type of a float dtype. f16 and bf16 never reach kernels: import
// converts them.
template <typename F>
void for_float_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    default:
      TY_REQUIRE(false, "{} is not computed; convert to f32 first", dtype_name(dtype));
  }
}

}  // namespace trainyard::kernels::reference
