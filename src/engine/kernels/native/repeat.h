// Loops whose index is a constant in every round: arrays of vectors stay in registers only so.
#pragma once

#include <utility>

// For the function that is repeated: compilers see through its arrays only if it is inlined first.
#define TY_INLINE __attribute__((always_inline))

namespace trainyard::kernels::native {
namespace {

template <int... kIndex, typename F>
[[gnu::always_inline]] inline void repeat_each(std::integer_sequence<int, kIndex...>, const F& f) {
  (f(std::integral_constant<int, kIndex>{}), ...);
}
// Local to the file that includes this, which may be compiled for a processor of its own.
template <int kCount, typename F>
[[gnu::always_inline]] inline void repeat(const F& f) {
  repeat_each(std::make_integer_sequence<int, kCount>{}, f);
}

}  // namespace
}  // namespace trainyard::kernels::native
