// tanh and swish of many numbers. Only for processors with AVX2 and FMA. Two to four times as fast
// as oneDNN's.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// y[i] = tanh(x[i]), on the threads the pool has; y may be x.
void tanh_of(const float* x, int64_t count, float* y);

// y[i] = x[i] / (1 + exp(-alpha x[i])), on the threads the pool has; y may be x.
void swish_of(const float* x, int64_t count, float alpha, float* y);

// The same on one thread in vectors of sixteen: ask cpu_has_avx512() first. y[i] = x[i] times
// min(max(x[i] / 6 + 1/2, 0), 1) is the third; it has no alpha.
void wide_tanh(const float* x, int64_t count, float alpha, float* y);
void wide_swish(const float* x, int64_t count, float alpha, float* y);
void wide_hard_swish(const float* x, int64_t count, float alpha, float* y);

}  // namespace trainyard::kernels::native
