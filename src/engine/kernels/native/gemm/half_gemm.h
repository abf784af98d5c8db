// Products of matrices that change between runs, in bf16: y = finish(a b), either one transposed.
#pragma once

#include <cstdint>

#include "engine/kernels/native/gemm/wide_tile.h"

namespace trainyard::kernels::native {

struct HalfGemmShape {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  bool a_transposed = false;  // a is [depth][rows]
  bool b_transposed = false;  // b is [columns][depth]
};

// Does rounding and packing the operands cost little beside the product?
bool half_gemm_pays(const HalfGemmShape& shape);

class HalfGemm {
 public:
  // Error if the shape is empty or the processor lacks AVX-512 BF16.
  HalfGemm(const HalfGemmShape& shape, const WideFinish& finish);

  // Of the memory that run() needs, aligned to 64 bytes.
  int64_t scratch_bytes() const;

  // bias: one for each column, or null. Does not allocate or throw.
  void run(const float* a, const float* b, const float* bias, float* y, void* scratch) const;

 private:
  void pack_a(const float* a, float* to) const;
  void pack_b(const float* b, float* to) const;

  HalfGemmShape shape_;
  WideFinish finish_;
  int64_t pairs_;
};

}  // namespace trainyard::kernels::native
