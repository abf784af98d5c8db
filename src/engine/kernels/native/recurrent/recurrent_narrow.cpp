// Recurrent steps in vectors of eight.
#include "engine/kernels/native/recurrent/recurrent_cell.h"

namespace trainyard::kernels::native {
namespace {

struct NarrowVectors {
  using Vector = __m256;
  static constexpr int64_t kUnits = 8;
  // With all gates they fill 12 of 16 registers or fewer.
  static constexpr int most_rows(int gates) { return gates == 4 ? 3 : (gates == 3 ? 4 : 6); }
  static constexpr int rows_ahead(int /*gates*/) { return 0; }  // too few registers

  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector spread(float x) { return _mm256_set1_ps(x); }
  static Vector load(const float* x) { return _mm256_load_ps(x); }
  static void store(float* to, Vector x) { _mm256_store_ps(to, x); }
  static void store_some(float* to, Vector x, int64_t count) {
    if (count >= kUnits) {
      _mm256_storeu_ps(to, x);
      return;
    }
    alignas(32) float all[kUnits];
    _mm256_store_ps(all, x);
    for (int64_t i = 0; i < count; ++i) to[i] = all[i];
  }
};

}  // namespace

RecurrentFunction narrow_recurrent(CellKind kind) {
  return recurrent_function<NarrowVectors>(kind);
}

}  // namespace trainyard::kernels::native
