// Loops over bytes for AVX-512 with VNNI. Compiled for such processors: nothing here may be shared
// with files that are not, so there are no functions but local ones and one that hands them out.
#include "kernels/native/int8/conv_tile.h"
#include "kernels/native/int8/vnni_vectors.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kRowGroup = 4;  // rows of a window that one instruction takes
constexpr int64_t kBlockChannels = 64;
constexpr int64_t kQuarters = 4;  // vectors that hold the sums of a block
constexpr int64_t kGroupBytes = kBlockChannels * kRowGroup;
constexpr int64_t kSegmentColumns = 64;
constexpr int64_t kMostGroups = kMostDepthwiseRows / kRowGroup;

int64_t groups_of(int64_t window_rows) {
  return (window_rows + kRowGroup - 1) / kRowGroup;
}

// Channel of element `i` of quarter `q` of a block: what interleaving bytes in lanes of 16 gives.
int64_t channel_at(int64_t q, int64_t i) {
  return i / 4 * 16 + q * 4 + i % 4;
}

int64_t vnni_depthwise_bytes(int64_t window_rows, int64_t window_columns) {
  return 2 * kGroupBytes + groups_of(window_rows) * window_columns * kGroupBytes;
}

// Biases, multipliers, then weights by group of rows and column, each in the order of the sums.
void vnni_pack_depthwise(const int8_t* weights, const int32_t* bias, const float* multiplier,
                         int64_t window_rows, int64_t window_columns, void* packed) {
  auto* to_bias = static_cast<int32_t*>(packed);
  auto* to_multiplier = reinterpret_cast<float*>(to_bias + kBlockChannels);
  auto* to = reinterpret_cast<int8_t*>(to_multiplier + kBlockChannels);
  for (int64_t at = 0; at < kBlockChannels; ++at) {
    const int64_t channel = channel_at(at / 16, at % 16);
    to_bias[at] = bias[channel];
    to_multiplier[at] = multiplier[channel];
  }
  for (int64_t group = 0; group < groups_of(window_rows); ++group) {
    for (int64_t column = 0; column < window_columns; ++column) {
      for (int64_t i = 0; i < kGroupBytes; ++i) {
        const int64_t channel = channel_at(i / 4 / 16, i / 4 % 16);
        const int64_t row = group * kRowGroup + i % 4;
        *to++ = row < window_rows ? weights[(channel * window_rows + row) * window_columns + column]
                                  : int8_t{0};
      }
    }
  }
}

// The bytes of four rows at one pixel, those of a channel together.
[[gnu::always_inline]] inline void interleave(const __m512i* rows, uint8_t* to) {
  const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  _mm512_store_si512(to, _mm512_unpacklo_epi16(low01, low23));
  _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(low01, low23));
  _mm512_store_si512(to + 128, _mm512_unpacklo_epi16(high01, high23));
  _mm512_store_si512(to + 192, _mm512_unpackhi_epi16(high01, high23));
}

// `count` columns from pixel `first` on (which may lie outside) into `to`, by column and group.
void gather_columns(const DepthwiseRow& job, int64_t first, int64_t count, int64_t groups,
                    uint8_t* to) {
  const __mmask64 mask =
      job.channels >= kBlockChannels ? ~__mmask64{0} : (__mmask64{1} << job.channels) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t pixel = first + i;
    const bool inside = pixel >= 0 && pixel < job.width;
    for (int64_t group = 0; group < groups; ++group, to += kGroupBytes) {
      __m512i rows[kRowGroup];
      repeat<kRowGroup>([&](auto r) {
        const int64_t row = group * kRowGroup + r;
        rows[r] = _mm512_setzero_si512();
        if (row >= job.window_rows) return;
        rows[r] =
            _mm512_maskz_loadu_epi8(mask, inside ? job.rows[row] + pixel * job.pixel : job.outside);
      });
      interleave(rows, to);
    }
  }
}

struct DepthwiseEnd {
  __m512 multiplier[kQuarters];
  __m512i shift;
  __m512i low;
  __m512i high;
  __mmask64 mask;

  explicit DepthwiseEnd(const DepthwiseRow& job)
      : shift(_mm512_set1_epi16(static_cast<int16_t>(job.finish->zero))),
        low(_mm512_set1_epi8(static_cast<char>(job.finish->low))),
        high(_mm512_set1_epi8(static_cast<char>(job.finish->high))),
        mask(job.channels >= kBlockChannels ? ~__mmask64{0} : (__mmask64{1} << job.channels) - 1) {
    const float* from = static_cast<const float*>(job.packed) + kBlockChannels;
    repeat<kQuarters>([&](auto q) { multiplier[q] = _mm512_loadu_ps(from + q * 16); });
  }

  [[gnu::always_inline]] void store(const __m512i* sums, uint8_t* y) const {
    __m512i steps[kQuarters];
    repeat<kQuarters>([&](auto q) {
      steps[q] = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums[q]), multiplier[q]));
    });
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(steps[0], steps[1]), shift);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(steps[2], steps[3]), shift);
    const __m512i bytes = _mm512_packus_epi16(first, second);
    _mm512_mask_storeu_epi8(y, mask, _mm512_min_epu8(_mm512_max_epu8(bytes, low), high));
  }
};

// With the weights of three columns in registers.
void three_columns(const DepthwiseRow& job, const DepthwiseEnd& end, const uint8_t* columns,
                   int64_t results, uint8_t* y) {
  const auto* bias = static_cast<const int32_t*>(job.packed);
  const auto* from = static_cast<const int8_t*>(job.packed) + 2 * kGroupBytes;
  __m512i start[kQuarters];
  __m512i weights[3][kQuarters];
  repeat<kQuarters>([&](auto q) {
    start[q] = _mm512_loadu_si512(bias + q * 16);
    repeat<3>([&](auto c) { weights[c][q] = _mm512_loadu_si512(from + c * kGroupBytes + q * 64); });
  });
  const int64_t advance = job.stride * kGroupBytes;
  const int64_t between = job.dilation * kGroupBytes;
  for (int64_t i = 0; i < results; ++i, columns += advance, y += job.pixel) {
    __m512i sums[kQuarters];
    repeat<kQuarters>([&](auto q) { sums[q] = start[q]; });
    repeat<3>([&](auto c) {
      repeat<kQuarters>([&](auto q) {
        const __m512i x = _mm512_load_si512(columns + c * between + q * 64);
        sums[q] = _mm512_dpbusd_epi32(sums[q], x, weights[c][q]);
      });
    });
    end.store(sums, y);
  }
}

void any_columns(const DepthwiseRow& job, const DepthwiseEnd& end, const uint8_t* columns,
                 int64_t results, int64_t groups, uint8_t* y) {
  const auto* bias = static_cast<const int32_t*>(job.packed);
  const auto* weights = static_cast<const int8_t*>(job.packed) + 2 * kGroupBytes;
  for (int64_t i = 0; i < results; ++i, y += job.pixel) {
    __m512i sums[kQuarters];
    repeat<kQuarters>([&](auto q) { sums[q] = _mm512_loadu_si512(bias + q * 16); });
    for (int64_t c = 0; c < job.window_columns; ++c) {
      const uint8_t* column = columns + (i * job.stride + c * job.dilation) * groups * kGroupBytes;
      for (int64_t group = 0; group < groups; ++group) {
        const int8_t* w = weights + (group * job.window_columns + c) * kGroupBytes;
        repeat<kQuarters>([&](auto q) {
          const __m512i x = _mm512_load_si512(column + group * kGroupBytes + q * 64);
          sums[q] = _mm512_dpbusd_epi32(sums[q], x, _mm512_loadu_si512(w + q * 64));
        });
      }
    }
    end.store(sums, y);
  }
}

void vnni_depthwise(const DepthwiseRow& job) {
  alignas(64) uint8_t columns[kSegmentColumns * kMostGroups * kGroupBytes];
  const int64_t groups = groups_of(job.window_rows);
  const int64_t span = (job.window_columns - 1) * job.dilation + 1;
  const int64_t most = (kSegmentColumns - span) / job.stride + 1;
  const DepthwiseEnd end(job);
  for (int64_t begin = 0; begin < job.results; begin += most) {
    const int64_t results = most < job.results - begin ? most : job.results - begin;
    gather_columns(job, begin * job.stride - job.pad, (results - 1) * job.stride + span, groups,
                   columns);
    uint8_t* y = job.y + begin * job.pixel;
    if (groups == 1 && job.window_columns == 3) {
      three_columns(job, end, columns, results, y);
    } else {
      any_columns(job, end, columns, results, groups, y);
    }
  }
}

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
    .depthwise_channels = kBlockChannels,
    .depthwise_bytes = vnni_depthwise_bytes,
    .pack_depthwise = vnni_pack_depthwise,
    .depthwise = vnni_depthwise,
    .peak = vnni_peak,
    .peak_products = kPeakSums * kBlockChannels,
};

#undef TY_TILES

}  // namespace

const ByteKernels& vnni_byte_kernels() {
  return kVnniKernels;
}

}  // namespace trainyard::kernels::native
