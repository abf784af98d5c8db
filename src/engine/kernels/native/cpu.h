// The processors that the kernels of this folder are for.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// Floats in a register.
inline constexpr int64_t kVector = 8;

// AVX2 and FMA, which every kernel here is compiled for. Ask before creating one. Processors that
// are not x86-64 have it in other vectors (vectors.h).
inline bool cpu_has_avx2_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

// AVX-512 as servers have it (F, BW, DQ, VL). ONEDNN_MAX_CPU_ISA, which keeps oneDNN to older
// processors, keeps us to them too.
bool cpu_has_avx512();
// The same with products of bytes.
bool cpu_has_avx512_vnni();
// The same with products of pairs of bf16.
bool cpu_has_avx512_bf16();

// Channels per block of images: the vector width in f32 elements that pays on this processor, 8 or
// 16. All kernels that work on blocks agree on it, since every change of blocks is a pass over
// memory.
int64_t channel_block();

}  // namespace trainyard::kernels::native
