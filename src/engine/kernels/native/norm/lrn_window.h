// What LRN and its gradient share: sums over the windows of five channels that networks use, on
// blocks of eight channels.
#pragma once

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vectors.h"
#include "ir/node_view.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kLrnSize = 5;
inline constexpr float kLrnExponent = 0.75F;

inline std::string_view refuses_lrn(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  if (node.attr_int("size", 1) != kLrnSize) return "only windows of five channels are implemented";
  if (node.attr_float("beta", kLrnExponent) != kLrnExponent) return "only beta 0.75 is implemented";
  return "";
}

// Channels c + kBy of the sixteen in (low, high), for c in low; kBy is 1 to 3.
template <int kBy>
inline __m256 later(__m256 low, __m256 high) {
  const __m256i a = _mm256_castps_si256(low);
  const __m256i b = _mm256_permute2x128_si256(a, _mm256_castps_si256(high), 0x21);
  return _mm256_castsi256_ps(_mm256_alignr_epi8(b, a, 4 * kBy));
}

// Channels c - kBy, for c in high.
template <int kBy>
inline __m256 earlier(__m256 low, __m256 high) {
  const __m256i b = _mm256_castps_si256(high);
  const __m256i a = _mm256_permute2x128_si256(_mm256_castps_si256(low), b, 0x21);
  return _mm256_castsi256_ps(_mm256_alignr_epi8(b, a, 16 - 4 * kBy));
}

// For each channel of `own` the sum over it and its two neighbors on either side.
inline __m256 sum_of_five(__m256 before, __m256 own, __m256 after) {
  const __m256 near = _mm256_add_ps(earlier<1>(before, own), later<1>(own, after));
  const __m256 far = _mm256_add_ps(earlier<2>(before, own), later<2>(own, after));
  return _mm256_add_ps(own, _mm256_add_ps(near, far));
}

}  // namespace trainyard::kernels::native
