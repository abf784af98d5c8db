// Element types for kernels that take more than floats.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "tensor/tensor.h"

namespace trainyard::kernels::reference {

// Calls f(T{}) with the one of Types that `dtype` names; Error if none does.
template <typename... Types, typename F>
void for_one_of(DType dtype, std::string_view op, F&& f) {
  const bool found = ((dtype == DTypeOf<Types>::kValue && (f(Types{}), true)) || ...);
  TY_REQUIRE(found, "{} is not computed for {}", op, dtype_name(dtype));
}

// What sums of T are taken in. Unsigned arithmetic wraps, which is right for every integer type
// once cast back.
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// Element `i` of a float tensor of either precision.
inline double float_at(const TensorView& view, int64_t i) {
  return view.dtype == DType::kF64 ? view.as<double>()[i] : double{view.as<float>()[i]};
}

}  // namespace trainyard::kernels::reference
