// Loops over bytes for AVX2.
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/avx2_depthwise.h"
#include "engine/kernels/native/int8/avx2_vectors.h"
#include "engine/kernels/native/int8/avx2_wide_depthwise.h"
#include "engine/kernels/native/int8/conv_tile.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

constexpr int kPeakSums = 8;

void avx2_peak(int64_t rounds) {
  __m256i sums[kPeakSums];
  const __m256i x = _mm256_set1_epi8(3);
  repeat<kPeakSums>([&](auto i) { sums[i] = x; });
  for (int64_t round = 0; round < rounds; ++round) {
    repeat<kPeakSums>([&](auto i) {
      __m256i first = x;
      __m256i second = x;
      forget(first);  // else one product serves for both
      forget(second);
      sums[i] = Avx2Fours::dot_two(sums[i], first, x, second, x);
      forget(sums[i]);
    });
  }
}

#define TY_TILES(form, vectors)                                                                \
  {                                                                                            \
    conv_tile<Avx2, form, vectors, 1>, conv_tile<Avx2, form, vectors, 2>,                      \
        conv_tile<Avx2, form, vectors, 3>, conv_tile<Avx2, form, vectors, 4>, nullptr, nullptr \
  }

constexpr ByteKernels kAvx2Kernels = {
    .name = kVectorsName,
    .lanes = Avx2::kLanes,
    .vectors = 2,
    .pixels = 4,
    .conv = {TY_TILES(Avx2Fours, 1), TY_TILES(Avx2Fours, 2), {}, {}},
    .exact_pairs = false,
    .wide_conv = {TY_TILES(Avx2Wide, 1), TY_TILES(Avx2Wide, 2), {}, {}},
    .depthwise = kAvx2Depthwise,
    .narrow_depthwise = {},
    .wide_depthwise = kAvx2WideDepthwise,
    .peak = avx2_peak,
    .peak_products = kPeakSums * 2 * Avx2::kLanes * kDepthStep,
};

#undef TY_TILES

}  // namespace

const ByteKernels& avx2_byte_kernels() {
  return kAvx2Kernels;
}

const ByteKernels& byte_kernels() {
  static const ByteKernels& best =
      cpu_has_avx512_vnni() ? vnni_byte_kernels() : avx2_byte_kernels();
  return best;
}

}  // namespace trainyard::kernels::native
