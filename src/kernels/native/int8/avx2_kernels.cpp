// Loops over bytes for AVX2.
#include "kernels/native/cpu.h"
#include "kernels/native/int8/avx2_vectors.h"
#include "kernels/native/int8/conv_tile.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kWideChannels = 16;                // of a depthwise block
constexpr int64_t kPairNumbers = 2 * kWideChannels;  // i16 weights of two taps

// Channel of element `i` of half `h` of a block: what interleaving words in lanes gives.
int64_t wide_channel_at(int64_t h, int64_t i) {
  return i / 4 * 8 + h * 4 + i % 4;
}

int64_t pairs_of(int64_t window_rows, int64_t window_columns) {
  return (window_rows * window_columns + 1) / 2;
}

int64_t avx2_depthwise_bytes(int64_t window_rows, int64_t window_columns) {
  constexpr auto kWord = static_cast<int64_t>(sizeof(int16_t));
  return kWideChannels * 8 + pairs_of(window_rows, window_columns) * kPairNumbers * kWord;
}

// Biases, multipliers, then weights of two taps at a time, widened, in the order of the sums.
void avx2_pack_depthwise(const int8_t* weights, const int32_t* bias, const float* multiplier,
                         int64_t window_rows, int64_t window_columns, void* packed) {
  auto* to_bias = static_cast<int32_t*>(packed);
  auto* to_multiplier = reinterpret_cast<float*>(to_bias + kWideChannels);
  auto* to = reinterpret_cast<int16_t*>(to_multiplier + kWideChannels);
  for (int64_t at = 0; at < kWideChannels; ++at) {
    const int64_t channel = wide_channel_at(at / 8, at % 8);
    to_bias[at] = bias[channel];
    to_multiplier[at] = multiplier[channel];
  }
  const int64_t taps = window_rows * window_columns;
  for (int64_t pair = 0; pair < pairs_of(window_rows, window_columns); ++pair) {
    for (int64_t i = 0; i < kPairNumbers; ++i) {
      const int64_t channel = wide_channel_at(i / 2 / 8, i / 2 % 8);
      const int64_t tap = 2 * pair + i % 2;
      *to++ = tap < taps ? weights[channel * taps + tap] : int8_t{0};
    }
  }
}

// 16 channels of a pixel as words; fewer if there are fewer.
__m256i load_words(const uint8_t* from, int64_t channels) {
  if (channels >= kWideChannels) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  alignas(16) uint8_t some[kWideChannels] = {};
  std::memcpy(some, from, static_cast<size_t>(channels));
  return _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(some)));
}

struct WideEnd {
  __m256 multiplier[2];
  __m256i shift;
  __m128i low;
  __m128i high;
  int64_t channels;

  explicit WideEnd(const DepthwiseRow& job)
      : shift(_mm256_set1_epi16(static_cast<int16_t>(job.finish->zero))),
        low(_mm_set1_epi8(static_cast<char>(job.finish->low))),
        high(_mm_set1_epi8(static_cast<char>(job.finish->high))),
        channels(job.channels) {
    const float* from = static_cast<const float*>(job.packed) + kWideChannels;
    repeat<2>([&](auto h) { multiplier[h] = _mm256_loadu_ps(from + h * 8); });
  }

  void store(const __m256i* sums, uint8_t* y) const {
    __m256i steps[2];
    repeat<2>([&](auto h) {
      steps[h] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sums[h]), multiplier[h]));
    });
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(steps[0], steps[1]), shift);
    __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    bytes = _mm_min_epu8(_mm_max_epu8(bytes, low), high);
    if (channels >= kWideChannels) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    } else {
      alignas(16) uint8_t some[kWideChannels];
      _mm_store_si128(reinterpret_cast<__m128i*>(some), bytes);
      std::memcpy(y, some, static_cast<size_t>(channels));
    }
  }
};

void avx2_depthwise(const DepthwiseRow& job) {
  const WideEnd end(job);
  const auto* bias = static_cast<const int32_t*>(job.packed);
  const auto* weights = reinterpret_cast<const __m256i*>(bias + 2 * kWideChannels);
  const int64_t taps = job.window_rows * job.window_columns;
  for (int64_t i = 0; i < job.results; ++i) {
    const int64_t first = i * job.stride - job.pad;
    const auto pixel_of = [&](int64_t tap) {
      const int64_t column = first + tap % job.window_columns * job.dilation;
      return column >= 0 && column < job.width
                 ? job.rows[tap / job.window_columns] + column * job.pixel
                 : job.outside;
    };
    __m256i sums[2] = {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias)),
                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias + 8))};
    const __m256i* w = weights;
    for (int64_t tap = 0; tap < taps; tap += 2, w += 2) {
      const __m256i a = load_words(pixel_of(tap), job.channels);
      const __m256i b =
          tap + 1 < taps ? load_words(pixel_of(tap + 1), job.channels) : _mm256_setzero_si256();
      sums[0] = _mm256_add_epi32(
          sums[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), _mm256_loadu_si256(w)));
      sums[1] = _mm256_add_epi32(
          sums[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), _mm256_loadu_si256(w + 1)));
    }
    end.store(sums, job.y + i * job.pixel);
  }
}

#define TY_TILES(form, vectors)                                                                \
  {                                                                                            \
    conv_tile<Avx2, form, vectors, 1>, conv_tile<Avx2, form, vectors, 2>,                      \
        conv_tile<Avx2, form, vectors, 3>, conv_tile<Avx2, form, vectors, 4>, nullptr, nullptr \
  }

constexpr ByteKernels kAvx2Kernels = {
    .name = "avx2",
    .lanes = Avx2::kLanes,
    .vectors = 2,
    .pixels = 4,
    .conv = {TY_TILES(Avx2Fours, 1), TY_TILES(Avx2Fours, 2), {}, {}},
    .exact_pairs = false,
    .wide_conv = {TY_TILES(Avx2Wide, 1), TY_TILES(Avx2Wide, 2), {}, {}},
    .depthwise_channels = kWideChannels,
    .depthwise_bytes = avx2_depthwise_bytes,
    .pack_depthwise = avx2_pack_depthwise,
    .depthwise = avx2_depthwise,
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
