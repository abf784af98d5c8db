// One step of an LSTM, a GRU or an RNN for eight units at a time: the sums of all gates of these
// units stay in registers until the new state is stored.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "kernels/native/vector_math.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kUnits = 8;  // of a block: one vector

enum class CellKind : uint8_t { kRnn, kGru, kLstm };

constexpr int gates_of(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : (kind == CellKind::kGru ? 3 : 1);
}
// Rows per call: with all gates they fill 12 of 16 registers or fewer.
constexpr int rows_of(CellKind kind) {
  return kind == CellKind::kLstm ? 3 : (kind == CellKind::kGru ? 4 : 6);
}

// sums[row][gate] += rows[row] (`depth` numbers) times the packed block [depth][gate][8].
template <int kRows, int kGates>
inline void multiply_block(const float* const* rows, int64_t depth, const float* block,
                           __m256 (&sums)[kRows][kGates]) {
  if constexpr (kRows == 1) {
    // One row alone waits for its own sums; several sets of them do not.
    constexpr int kSets = kGates >= 3 ? 2 : 8 / kGates;
    __m256 sets[kSets][kGates];
    for (auto& set : sets) {
      for (__m256& sum : set) sum = _mm256_setzero_ps();
    }
    int64_t k = 0;
    for (; k + kSets <= depth; k += kSets) {
      for (int s = 0; s < kSets; ++s, block += kGates * kUnits) {
        const __m256 a = _mm256_broadcast_ss(rows[0] + k + s);
        for (int g = 0; g < kGates; ++g) {
          sets[s][g] = _mm256_fmadd_ps(a, _mm256_load_ps(block + g * kUnits), sets[s][g]);
        }
      }
    }
    for (; k < depth; ++k, block += kGates * kUnits) {
      const __m256 a = _mm256_broadcast_ss(rows[0] + k);
      for (int g = 0; g < kGates; ++g) {
        sets[0][g] = _mm256_fmadd_ps(a, _mm256_load_ps(block + g * kUnits), sets[0][g]);
      }
    }
    for (const auto& set : sets) {
      for (int g = 0; g < kGates; ++g) sums[0][g] = _mm256_add_ps(sums[0][g], set[g]);
    }
  } else {
    for (int64_t k = 0; k < depth; ++k, block += kGates * kUnits) {
      __m256 weights[kGates];
      for (int g = 0; g < kGates; ++g) weights[g] = _mm256_load_ps(block + g * kUnits);
      for (int r = 0; r < kRows; ++r) {
        const __m256 a = _mm256_broadcast_ss(rows[r] + k);
        for (int g = 0; g < kGates; ++g) {
          sums[r][g] = _mm256_fmadd_ps(a, weights[g], sums[r][g]);
        }
      }
    }
  }
}

inline __m256 sigmoid_vector(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 e = exp_vector(_mm256_sub_ps(_mm256_setzero_ps(), x));
  return _mm256_div_ps(one, _mm256_add_ps(one, e));
}

// The new state from the sums of the gates. `state` is the old one of these units; `cell` that of
// an LSTM, replaced; `from_input` the part of a GRU's candidate that the reset gate leaves alone.
template <CellKind kKind>
inline __m256 new_state(const __m256 (&sums)[gates_of(kKind)], __m256 state, float* cell,
                        __m256 from_input) {
  if constexpr (kKind == CellKind::kRnn) {
    return tanh_vector(sums[0]);
  } else if constexpr (kKind == CellKind::kGru) {
    const __m256 update = sigmoid_vector(sums[0]);
    const __m256 reset = sigmoid_vector(sums[1]);
    const __m256 candidate = tanh_vector(_mm256_fmadd_ps(reset, sums[2], from_input));
    return _mm256_fmadd_ps(update, _mm256_sub_ps(state, candidate), candidate);
  } else {
    const __m256 input = sigmoid_vector(sums[0]);
    const __m256 output = sigmoid_vector(sums[1]);
    const __m256 forget = sigmoid_vector(sums[2]);
    const __m256 candidate = tanh_vector(sums[3]);
    const __m256 kept = _mm256_mul_ps(forget, _mm256_loadu_ps(cell));
    const __m256 c = _mm256_fmadd_ps(input, candidate, kept);
    _mm256_storeu_ps(cell, c);
    return _mm256_mul_ps(output, tanh_vector(c));
  }
}

}  // namespace trainyard::kernels::native
