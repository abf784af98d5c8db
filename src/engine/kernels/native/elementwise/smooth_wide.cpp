// tanh and swish in vectors of sixteen. Compiled for AVX-512: nothing here may be shared with files
// that are not.
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

template <typename F>
[[gnu::always_inline]] inline void apply_wide(const float* x, int64_t count, float* y, const F& f) {
  constexpr int64_t kLanes = 16;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm512_storeu_ps(y + i, f(_mm512_loadu_ps(x + i)));
  if (i == count) return;
  const auto rest = static_cast<__mmask16>((1 << (count - i)) - 1);
  _mm512_mask_storeu_ps(y + i, rest, f(_mm512_maskz_loadu_ps(rest, x + i)));
}

}  // namespace

void wide_tanh(const float* x, int64_t count, float /*alpha*/, float* y) {
  apply_wide(x, count, y, [](__m512 v) { return tanh_vector(v); });
}

void wide_swish(const float* x, int64_t count, float alpha, float* y) {
  const __m512 slope = _mm512_set1_ps(-alpha);
  const __m512 one = _mm512_set1_ps(1.0F);
  apply_wide(x, count, y,
             [&](__m512 v) { return over(v, plus(one, exp_vector(times(v, slope)))); });
}

void wide_hard_swish(const float* x, int64_t count, float /*alpha*/, float* y) {
  apply_wide(x, count, y, [](__m512 v) { return hard_swish_vector(v); });
}

}  // namespace trainyard::kernels::native
