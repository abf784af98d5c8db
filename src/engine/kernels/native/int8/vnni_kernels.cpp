// Loops over bytes for AVX-512 with VNNI. Compiled for such processors: nothing here may be shared
// with files that are not, so there are no functions but local ones and one that hands them out.
#include "engine/kernels/native/int8/conv_tile.h"
#include "engine/kernels/native/int8/vnni_depthwise.h"
#include "engine/kernels/native/int8/vnni_vectors.h"

namespace trainyard::kernels::native {
namespace {

template <typename V>
void vnni_pack_depthwise(const int8_t* weights, const int32_t* bias, const float* multiplier,
                         int64_t window_rows, int64_t window_columns, void* packed) {
  pack_ordered<V::kChannels>(weights, bias, multiplier, window_rows, window_columns, packed);
}

template <typename V>
constexpr DepthwiseKernel kVnniDepthwise = {.channels = V::kChannels,
                                            .bytes = ordered_bytes<V::kChannels>,
                                            .pack = vnni_pack_depthwise<V>,
                                            .run = VnniDepthwise<V>::run};

constexpr int kPeakSums = 12;

void vnni_peak(int64_t rounds) {
  __m512i sums[kPeakSums];
  const __m512i x = _mm512_set1_epi8(3);
  repeat<kPeakSums>([&](auto i) { sums[i] = x; });
  for (int64_t round = 0; round < rounds; ++round) {
    repeat<kPeakSums>([&](auto i) {
      sums[i] = _mm512_dpbusd_epi32(sums[i], x, x);
      asm volatile("" : "+v"(sums[i]));
    });
  }
}

#define TY_TILES(vectors)                                                               \
  {                                                                                     \
    conv_tile<Vnni, VnniFours, vectors, 1>, conv_tile<Vnni, VnniFours, vectors, 2>,     \
        conv_tile<Vnni, VnniFours, vectors, 3>, conv_tile<Vnni, VnniFours, vectors, 4>, \
        conv_tile<Vnni, VnniFours, vectors, 5>, conv_tile<Vnni, VnniFours, vectors, 6>  \
  }

constexpr ByteKernels kVnniKernels = {
    .name = "avx512_vnni",
    .lanes = Vnni::kLanes,
    .vectors = 4,
    .pixels = 6,
    .conv = {TY_TILES(1), TY_TILES(2), TY_TILES(3), TY_TILES(4)},
    .exact_pairs = true,
    .wide_conv = {},
    .depthwise = kVnniDepthwise<Bytes64>,
    .narrow_depthwise = kVnniDepthwise<Bytes32>,
    .wide_depthwise = {},
    .peak = vnni_peak,
    .peak_products = kPeakSums * Vnni::kLanes * kDepthStep,
};

#undef TY_TILES

}  // namespace

const ByteKernels& vnni_byte_kernels() {
  return kVnniKernels;
}

}  // namespace trainyard::kernels::native
