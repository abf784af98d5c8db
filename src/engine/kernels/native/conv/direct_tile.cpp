// Compiled for AVX-512: nothing here may be shared with files that are not, so there are no
// functions but local ones and one that hands them out.
#include "engine/kernels/native/conv/direct_tile.h"

#include <immintrin.h>
#include <utility>

#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

// Fetches a cache line that is going to be written.
[[gnu::always_inline]] inline void claim_line(const float* line) {
  asm volatile("prefetchw %0" : : "m"(*line));
}

// Where the vectors of a tile lie in images of kBlock channels. A copy of what the tile says:
// stores might change the tile, for all the compiler knows.
template <int kBlock>
struct Planes;

template <>
struct Planes<16> {
  [[gnu::always_inline]] static __m512 load(const float* image, int64_t plane, int64_t vector,
                                            int64_t /*blocks*/) {
    return _mm512_loadu_ps(image + vector * plane);
  }
  [[gnu::always_inline]] static void store(__m512 value, float* image, int64_t plane,
                                           int64_t vector, int64_t /*blocks*/) {
    _mm512_storeu_ps(image + vector * plane, value);
  }
  [[gnu::always_inline]] static void claim(const float* image, int64_t plane, int64_t vector,
                                           int64_t /*blocks*/) {
    claim_line(image + vector * plane);
  }
};

// A vector of channels is two blocks of the image, of which the second may not be there.
template <>
struct Planes<8> {
  [[gnu::always_inline]] static __m512 load(const float* image, int64_t plane, int64_t vector,
                                            int64_t blocks) {
    const float* at = image + 2 * vector * plane;
    const __m256 second =
        2 * vector + 1 < blocks ? _mm256_loadu_ps(at + plane) : _mm256_setzero_ps();
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(at)), second, 1);
  }
  [[gnu::always_inline]] static void store(__m512 value, float* image, int64_t plane,
                                           int64_t vector, int64_t blocks) {
    float* at = image + 2 * vector * plane;
    _mm256_storeu_ps(at, _mm512_castps512_ps256(value));
    if (2 * vector + 1 < blocks) _mm256_storeu_ps(at + plane, _mm512_extractf32x8_ps(value, 1));
  }
  [[gnu::always_inline]] static void claim(const float* image, int64_t plane, int64_t vector,
                                           int64_t blocks) {
    claim_line(image + 2 * vector * plane);
    if (2 * vector + 1 < blocks) claim_line(image + (2 * vector + 1) * plane);
  }
};

template <int kBlock, int kPositions, int kVectors>
void convolve_tile(const DirectTile& tile) {
  __m512 sums[kPositions][kVectors];
  if (tile.bias != nullptr) {
    repeat<kVectors>([&](auto v) TY_INLINE {
      const __m512 bias = _mm512_loadu_ps(tile.bias + v * kDirectLanes);
      repeat<kPositions>([&](auto p) TY_INLINE { sums[p][v] = bias; });
    });
  } else {
    repeat<kVectors>([&](auto v) TY_INLINE {
      repeat<kPositions>([&](auto p) TY_INLINE {
        sums[p][v] = Planes<kBlock>::load(tile.y + p * kBlock, tile.y_plane, v, tile.out_blocks);
      });
    });
  }
  // Memory answers while the sums are made.
  repeat<kVectors>([&](auto v) TY_INLINE {
    repeat<kPositions>([&](auto p) TY_INLINE {
      Planes<kBlock>::claim(tile.y + p * kBlock, tile.y_plane, v, tile.out_blocks);
    });
  });
  const float* weights = tile.weights;
  const float* next = tile.next;
  const auto add_channels = [&](const float* x, auto count) TY_INLINE {
    for (int64_t line = 0; line < tile.next_lines; ++line, next += kDirectLanes) {
      _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
    }
    if (tile.x_ahead != 0) {
      repeat<kPositions * kBlock / kDirectLanes>([&](auto line) TY_INLINE {
        _mm_prefetch(reinterpret_cast<const char*>(x + tile.x_ahead + line * kDirectLanes),
                     _MM_HINT_T0);
      });
    }
    repeat<count()>([&](auto c) TY_INLINE {
      __m512 w[kVectors];
      repeat<kVectors>([&](auto v) TY_INLINE {
        w[v] = _mm512_loadu_ps(weights + (c * kVectors + v) * kDirectLanes);
      });
      repeat<kPositions>([&](auto p) TY_INLINE {
        const __m512 value = _mm512_set1_ps(x[p * kBlock + c]);
        repeat<kVectors>([&](auto v)
                             TY_INLINE { sums[p][v] = _mm512_fmadd_ps(value, w[v], sums[p][v]); });
      });
    });
    weights += count() * kVectors * kDirectLanes;
  };
  const float* plane = tile.x;
  for (int64_t c = kBlock; c <= tile.in_channels; c += kBlock, plane += tile.x_plane) {
    for (int64_t tap = 0; tap < tile.num_taps; ++tap) {
      add_channels(plane + tile.taps[tap], std::integral_constant<int, kBlock>{});
    }
  }
  if constexpr (kBlock == 16) {
    if (tile.in_channels % kBlock != 0) {
      for (int64_t tap = 0; tap < tile.num_taps; ++tap) {
        add_channels(plane + tile.taps[tap], std::integral_constant<int, kBlock / 2>{});
      }
    }
  }
  float* const y = tile.y;
  const float* const added = tile.added;
  const int64_t y_plane = tile.y_plane;
  const int64_t blocks = tile.out_blocks;
  const __m512 low = _mm512_set1_ps(tile.low);
  const __m512 high = _mm512_set1_ps(tile.high);
  repeat<kVectors>([&](auto v) TY_INLINE {
    repeat<kPositions>([&](auto p) TY_INLINE {
      __m512 value = sums[p][v];
      if (added != nullptr) {
        value = _mm512_add_ps(value, Planes<kBlock>::load(added + p * kBlock, y_plane, v, blocks));
      }
      Planes<kBlock>::store(smaller(high, larger(low, value)), y + p * kBlock, y_plane, v, blocks);
    });
  });
}

template <int kBlock, int kVectors, typename Positions>
struct Functions;

template <int kBlock, int kVectors, int... kLess>
struct Functions<kBlock, kVectors, std::integer_sequence<int, kLess...>> {
  static constexpr DirectTileFunction kOfPositions[] = {
      convolve_tile<kBlock, kLess + 1, kVectors>...};
};

template <int kBlock, int kVectors>
DirectTileFunction tile_of_vectors(int64_t positions) {
  using Positions = std::make_integer_sequence<int, direct_positions(kVectors)>;
  return Functions<kBlock, kVectors, Positions>::kOfPositions[positions - 1];
}

template <int kBlock>
DirectTileFunction tile_of_block(int64_t positions, int64_t vectors) {
  if (vectors == 1) return tile_of_vectors<kBlock, 1>(positions);
  return vectors == 2 ? tile_of_vectors<kBlock, 2>(positions)
                      : tile_of_vectors<kBlock, 4>(positions);
}

}  // namespace

DirectTileFunction direct_tile(int64_t positions, int64_t vectors, int64_t block) {
  return block == 8 ? tile_of_block<8>(positions, vectors) : tile_of_block<16>(positions, vectors);
}

}  // namespace trainyard::kernels::native
