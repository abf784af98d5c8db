// The loops of wide_tile.h, local to each file that includes this: those are compiled for
// processors of their own.
#pragma once

#include <immintrin.h>

#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

[[gnu::always_inline]] inline __m512 activate(const WideFinish& finish, __m512 x) {
  if (finish.activation == WideActivation::kGelu) return gelu_vector(x);
  if (finish.activation == WideActivation::kGeluByTanh) return gelu_by_tanh_vector(x);
  if (finish.activation == WideActivation::kSwishOf) {
    return times(x, sigmoid_vector(times(x, _mm512_set1_ps(finish.slope))));
  }
  if (finish.activation == WideActivation::kHardSwish) return hard_swish_vector(x);
  if (finish.activation == WideActivation::kTanhOf) return tanh_vector(x);
  return smaller(_mm512_set1_ps(finish.high), larger(_mm512_set1_ps(finish.low), x));
}

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void store_tile(const WideTile& tile, __mmask16 last,
                                              const __m512 (&sums)[kRows][kVectors]) {
  const __m512 factor = _mm512_set1_ps(tile.finish->factor);
  repeat<kVectors>([&](auto v) TY_INLINE {
    const __mmask16 mask = v == kVectors - 1 ? last : __mmask16{0xffff};
    const int64_t at = v * kWideLanes;
    const __m512 bias =
        tile.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, tile.bias + at);
    repeat<kRows>([&](auto r) TY_INLINE {
      __m512 value = activate(*tile.finish, _mm512_fmadd_ps(sums[r][v], factor, bias));
      const int64_t place = r * tile.c_stride + at;
      if (tile.added != nullptr) {
        value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, tile.added + place));
      }
      _mm512_mask_storeu_ps(tile.c + place, mask, value);
    });
  });
}

// One float of the depth at a time; `Pairs` of half_tile.cpp takes two.
struct Singles {
  [[gnu::always_inline]] static __m512 multiply_add(__m512 a, __m512 b, __m512 sum) {
    return _mm512_fmadd_ps(a, b, sum);
  }
};

template <typename Product, int kRows, int kVectors>
void multiply_tile(const WideTile& tile) {
  const int64_t in_last = tile.columns - (kVectors - 1) * kWideLanes;
  const auto last = static_cast<__mmask16>(in_last >= kWideLanes ? 0xffff : (1 << in_last) - 1);
  __m512 sums[kRows][kVectors];
  repeat<kRows>([&](auto r) TY_INLINE {
    repeat<kVectors>([&](auto v) TY_INLINE { sums[r][v] = _mm512_setzero_ps(); });
  });
  const float* a = tile.a;
  const float* b = tile.b;
  const float* soon = tile.soon;
  for (int64_t begin = 0; begin < tile.depth; begin += kWideDepth) {
    for (int64_t i = 0; i < tile.soon_lines; ++i, soon += kWideLanes) {
      _mm_prefetch(reinterpret_cast<const char*>(soon), _MM_HINT_T1);
    }
    const int64_t steps = tile.depth - begin < kWideDepth ? tile.depth - begin : kWideDepth;
    for (int64_t k = 0; k < steps; ++k, a += tile.a_step, b += tile.b_stride) {
      __m512 weights[kVectors];
      repeat<kVectors>([&](auto v) TY_INLINE {
        weights[v] = v == kVectors - 1 ? _mm512_maskz_loadu_ps(last, b + v * kWideLanes)
                                       : _mm512_loadu_ps(b + v * kWideLanes);
      });
      repeat<kRows>([&](auto r) TY_INLINE {
        const __m512 x = _mm512_set1_ps(a[r * tile.a_stride]);
        repeat<kVectors>([&](auto v) TY_INLINE {
          sums[r][v] = Product::multiply_add(x, weights[v], sums[r][v]);
        });
      });
    }
  }
  store_tile<kRows, kVectors>(tile, last, sums);
}

template <typename Product, int kVectors>
constexpr WideTileFunction kOfRows[kWideRows] = {
    multiply_tile<Product, 1, kVectors>, multiply_tile<Product, 2, kVectors>,
    multiply_tile<Product, 3, kVectors>, multiply_tile<Product, 4, kVectors>,
    multiply_tile<Product, 5, kVectors>, multiply_tile<Product, 6, kVectors>,
    multiply_tile<Product, 7, kVectors>, multiply_tile<Product, 8, kVectors>};

template <typename Product>
WideTileFunction tile_of(int64_t rows, int64_t vectors) {
  if (vectors == 1) return kOfRows<Product, 1>[rows - 1];
  return vectors == 2 ? kOfRows<Product, 2>[rows - 1] : kOfRows<Product, 3>[rows - 1];
}

}  // namespace
}  // namespace trainyard::kernels::native
