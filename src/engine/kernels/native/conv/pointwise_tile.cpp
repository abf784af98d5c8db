// Compiled for AVX-512: nothing here may be shared with files that are not, so there are no
// functions but local ones and one that hands them out.
#include "engine/kernels/native/conv/pointwise_tile.h"

#include <immintrin.h>

#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

constexpr int kPlaneBlock = 8;

// Where sums go. A copy of what the tile says: stores might change the tile, for all the compiler
// knows.
struct Target {
  explicit Target(const PointwiseTile& tile)
      : low(_mm512_set1_ps(tile.low)),
        high(_mm512_set1_ps(tile.high)),
        y(tile.y),
        plane(tile.y_plane),
        added(tile.added),
        blocks(tile.out_blocks) {}

  // A vector of channels is two blocks of the image.
  [[gnu::always_inline]] void store_both(__m512 sum, int64_t block, int64_t position) const {
    float* to = y + block * plane + position * kPlaneBlock;
    const __m512 value = smaller(high, larger(low, sum));
    _mm256_storeu_ps(to, _mm512_castps512_ps256(value));
    _mm256_storeu_ps(to + plane, _mm512_extractf32x8_ps(value, 1));
  }

  // With what is added, and the second block only if it is there.
  [[gnu::always_inline]] void store(__m512 sum, int64_t block, int64_t position) const {
    const int64_t at = block * plane + position * kPlaneBlock;
    const bool two = block + 1 < blocks;
    if (added != nullptr) {
      const __m512 first = _mm512_castps256_ps512(_mm256_loadu_ps(added + at));
      const __m256 second = two ? _mm256_loadu_ps(added + at + plane) : _mm256_setzero_ps();
      sum = _mm512_add_ps(sum, _mm512_insertf32x8(first, second, 1));
    }
    const __m512 value = smaller(high, larger(low, sum));
    _mm256_storeu_ps(y + at, _mm512_castps512_ps256(value));
    if (two) _mm256_storeu_ps(y + at + plane, _mm512_extractf32x8_ps(value, 1));
  }

  __m512 low, high;
  float* y;
  int64_t plane;
  const float* added;
  int64_t blocks;
};

template <int kPositions, int kVectors>
void convolve_tile(const PointwiseTile& tile) {
  __m512 sums[kPositions][kVectors];
  repeat<kVectors>([&](auto v) TY_INLINE {
    const __m512 bias = _mm512_loadu_ps(tile.bias + v * kPointwiseLanes);
    repeat<kPositions>([&](auto p) TY_INLINE { sums[p][v] = bias; });
  });
  const float* x = tile.x;
  const float* weights = tile.weights;
  for (int64_t block = 0; block < tile.in_blocks; ++block, x += tile.x_plane) {
    repeat<kPlaneBlock>([&](auto c) TY_INLINE {
      __m512 w[kVectors];
      repeat<kVectors>([&](auto v) TY_INLINE {
        w[v] = _mm512_loadu_ps(weights + (c * kVectors + v) * kPointwiseLanes);
      });
      repeat<kPositions>([&](auto p) TY_INLINE {
        const __m512 value = _mm512_set1_ps(x[p * kPlaneBlock + c]);
        repeat<kVectors>([&](auto v)
                             TY_INLINE { sums[p][v] = _mm512_fmadd_ps(value, w[v], sums[p][v]); });
      });
    });
    weights += kPlaneBlock * kVectors * kPointwiseLanes;
  }
  const Target target(tile);
  // Most often there is nothing to ask for at each place.
  if (tile.added == nullptr && tile.out_blocks == 2 * kVectors) {
    repeat<kVectors>([&](auto v) TY_INLINE {
      repeat<kPositions>([&](auto p) TY_INLINE { target.store_both(sums[p][v], 2 * v, p); });
    });
    return;
  }
  repeat<kVectors>([&](auto v) TY_INLINE {
    repeat<kPositions>([&](auto p) TY_INLINE { target.store(sums[p][v], 2 * v, p); });
  });
}

template <int kVectors>
constexpr PointwiseTileFunction kOfPositions[kPointwisePositions] = {
    convolve_tile<1, kVectors>,  convolve_tile<2, kVectors>,  convolve_tile<3, kVectors>,
    convolve_tile<4, kVectors>,  convolve_tile<5, kVectors>,  convolve_tile<6, kVectors>,
    convolve_tile<7, kVectors>,  convolve_tile<8, kVectors>,  convolve_tile<9, kVectors>,
    convolve_tile<10, kVectors>, convolve_tile<11, kVectors>, convolve_tile<12, kVectors>};

}  // namespace

PointwiseTileFunction pointwise_tile(int64_t positions, int64_t vectors) {
  return vectors == 1 ? kOfPositions<1>[positions - 1] : kOfPositions<2>[positions - 1];
}

}  // namespace trainyard::kernels::native
