// How kernels get at operands of several types, and at operands that may be absent.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "engine/kernels/api/kernel.h"
#include "tensor/dispatch.h"

namespace trainyard::kernels::reference {

// The operand at a position; one without data if it is absent.
inline TensorView input_or_none(const KernelArgs& args, size_t i) {
  return i < args.inputs.size() ? args.inputs[i] : TensorView{};
}
inline TensorView output_or_none(const KernelArgs& args, size_t i) {
  return i < args.outputs.size() ? args.outputs[i] : TensorView{};
}

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

// Element `i` of a float tensor of any precision.
inline double float_at(const TensorView& view, int64_t i) {
  return for_float_type(view.dtype,
                        [&]<typename T>(T) { return static_cast<double>(view.as<T>()[i]); });
}
inline void store_float(const TensorView& view, int64_t i, double value) {
  for_float_type(view.dtype, [&]<typename T>(T) { view.as<T>()[i] = static_cast<T>(value); });
}

}  // namespace trainyard::kernels::reference
