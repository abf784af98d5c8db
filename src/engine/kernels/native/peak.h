// Loops that show what the processor can do at most.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// `rounds` rounds of independent multiply-adds on the widest vectors that the processor has.
void fma_loop(int64_t rounds);
// Floating-point operations of fma_loop(rounds).
double fma_loop_flops(int64_t rounds);

// Do vectors of 16 floats compute clearly more in a second than vectors of 8? Many processors run
// them in two halves. Told by the processor's family, not measured: the kernels that are chosen,
// and with them the last bits of results, must not differ from one process to the next.
bool wide_vectors_pay();

// The same with products of bytes, u8 by i8.
void byte_loop(int64_t rounds);
double byte_loop_operations(int64_t rounds);

// The same with products of pairs of bf16; asks for cpu_has_avx512_bf16().
void bf16_loop(int64_t rounds);
double bf16_loop_flops(int64_t rounds);

// Reads `count` floats in order.
void sum_loop(const float* values, int64_t count);

}  // namespace trainyard::kernels::native
