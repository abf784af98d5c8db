// Whether this processor can run the kernels of this folder.
#pragma once

namespace trainyard::kernels::native {

// AVX2 and FMA, which every kernel here is compiled for. Ask before creating one.
inline bool cpu_has_avx2_fma() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

}  // namespace trainyard::kernels::native
