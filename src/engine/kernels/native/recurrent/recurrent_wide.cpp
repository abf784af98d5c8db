// Recurrent steps in vectors of sixteen. Compiled for AVX-512: nothing here may be shared with
// files that are not, so there are no functions but local ones and one that hands them out.
#include "engine/kernels/native/recurrent/recurrent_cell.h"

namespace trainyard::kernels::native {
namespace {

struct WideVectors {
  using Vector = __m512;
  static constexpr int64_t kUnits = 16;
  // With all gates they fill 24 of 32 registers or fewer.
  static constexpr int most_rows(int gates) { return gates == 4 ? 6 : (gates == 3 ? 8 : 16); }
  // Beside the sums of one state and the weights: 29 registers. An RNN has too few sums to wait
  // for.
  static constexpr int rows_ahead(int gates) { return gates == 4 ? 5 : (gates == 3 ? 7 : 0); }

  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector spread(float x) { return _mm512_set1_ps(x); }
  static Vector load(const float* x) { return _mm512_load_ps(x); }
  static void store(float* to, Vector x) { _mm512_store_ps(to, x); }
  static void store_some(float* to, Vector x, int64_t count) {
    const auto mask = static_cast<__mmask16>(count >= kUnits ? 0xffff : (1 << count) - 1);
    _mm512_mask_storeu_ps(to, mask, x);
  }
};

}  // namespace

RecurrentFunction wide_recurrent(CellKind kind) {
  return recurrent_function<WideVectors>(kind);
}

}  // namespace trainyard::kernels::native
