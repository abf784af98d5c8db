// The vectors of eight floats that this folder computes with: AVX2's where there are, else the same
// names on others.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include "engine/kernels/native/portable_vectors.h"
#endif

namespace trainyard::kernels::native {

#if defined(__x86_64__)
inline constexpr const char* kVectorsName = "avx2";
#else
inline constexpr const char* kVectorsName = "portable";
#endif

// The compiler forgets what it knows of the value.
[[gnu::always_inline]] inline void forget(__m256i& value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

}  // namespace trainyard::kernels::native
