// The loop of a quantized convolution over one tile, for any kind of vector. Included once by each
// file that defines one; everything is local to that file, since it is compiled for its processor.
#pragma once

#include <cstring>

#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/repeat.h"

namespace trainyard::kernels::native {
namespace {

[[gnu::always_inline]] inline int32_t load_four(const uint8_t* x) {
  int32_t four;
  std::memcpy(&four, x, sizeof four);
  return four;
}

// The last bytes of a depth that is no multiple of four; what lies behind them is not touched.
[[gnu::always_inline]] inline int32_t load_rest(const uint8_t* x, int64_t count) {
  uint32_t four = x[0];
  if (count > 1) four |= uint32_t{x[1]} << 8U;
  if (count > 2) four |= uint32_t{x[2]} << 16U;
  return static_cast<int32_t>(four);
}

// V: vectors, and how they become bytes.
template <typename V, int kVectors>
[[gnu::always_inline]] inline void multiply_steps(const typename V::Ints* sums,
                                                  const ConvTile& tile, typename V::Floats* steps) {
  repeat<kVectors>([&](auto v) TY_INLINE {
    steps[v] = V::multiply(V::to_floats(sums[v]), V::load(tile.multiplier + v * V::kLanes));
  });
}

template <typename V, int kVectors>
[[gnu::always_inline]] inline void finish_reals(const typename V::Ints* sums, const ConvTile& tile,
                                                int64_t pixel) {
  typename V::Floats steps[kVectors];
  if (tile.sums) {
    repeat<kVectors>([&](auto v) TY_INLINE { steps[v] = V::same_bits(sums[v]); });
  } else {
    multiply_steps<V, kVectors>(sums, tile, steps);
  }
  if (tile.shift != nullptr) {
    repeat<kVectors>([&](auto v) TY_INLINE {
      steps[v] = V::add(steps[v], V::load(tile.shift + v * V::kLanes));
    });
  }
  float* to = tile.reals + pixel * tile.real_pixel;
  repeat<kVectors>([&](auto v) TY_INLINE {
    const int64_t count = tile.channels - v * V::kLanes;
    if (tile.real_half == 0) {
      V::store_some(to + v * V::kLanes, steps[v], count);
    } else {
      V::store_blocks(to + v * tile.real_vector, steps[v], tile.real_half, count);
    }
  });
}

// Results of kPixels pixels from `pixel` on.
template <typename V, int kVectors, int kPixels>
[[gnu::always_inline]] inline void finish_bytes(const typename V::Ints (*sums)[kVectors],
                                                const ConvTile& tile, int64_t pixel) {
  typename V::Floats steps[kPixels][kVectors];
  repeat<kPixels>([&](auto p) TY_INLINE { multiply_steps<V, kVectors>(sums[p], tile, steps[p]); });
  const Finish& finish = *tile.finish;
  V::template store_bytes<kVectors, kPixels>(steps, finish.zero, finish.low, finish.high,
                                             tile.y + pixel * tile.stride, tile.stride,
                                             tile.channels);
}

template <typename V, int kVectors, int kPixels>
[[gnu::always_inline]] inline void finish_sum(const typename V::Ints (*sums)[kVectors],
                                              const ConvTile& tile, int64_t pixel) {
  const Finish& finish = *tile.finish;
  typename V::Floats steps[kPixels][kVectors];
  const typename V::Floats low = V::all(static_cast<float>(finish.low - finish.zero));
  const typename V::Floats high = V::all(static_cast<float>(finish.high - finish.zero));
  const typename V::Floats sum_zero = V::all(static_cast<float>(finish.sum_zero));
  repeat<kPixels>([&](auto p) TY_INLINE {
    multiply_steps<V, kVectors>(sums[p], tile, steps[p]);
    const uint8_t* added = tile.added + (pixel + p) * tile.stride;
    repeat<kVectors>([&](auto v) TY_INLINE {
      const typename V::Floats own = V::clamp(V::round(steps[p][v]), low, high);
      const typename V::Floats other = V::subtract(
          V::load_bytes(added + v * V::kLanes, tile.channels - v * V::kLanes), sum_zero);
      steps[p][v] = V::add(V::multiply(own, V::all(finish.own_ratio)),
                           V::multiply(other, V::all(finish.sum_ratio)));
    });
  });
  V::template store_bytes<kVectors, kPixels>(steps, finish.out_zero, finish.out_low,
                                             finish.out_high, tile.y + pixel * tile.stride,
                                             tile.stride, tile.channels);
}

// Calls f(first pixel, number of pixels), as many at once as the vectors store together.
template <typename V, int kPixels, typename F>
[[gnu::always_inline]] inline void by_stored_pixels(const F& f) {
  repeat<kPixels / V::kStored>([&](auto i) TY_INLINE {
    f(std::integral_constant<int, i * V::kStored>{}, std::integral_constant<int, V::kStored>{});
  });
  constexpr int kRest = kPixels % V::kStored;
  if constexpr (kRest > 0) {
    f(std::integral_constant<int, kPixels - kRest>{}, std::integral_constant<int, kRest>{});
  }
}

template <typename V, int kVectors, int kPixels>
[[gnu::always_inline]] inline void finish_tile(const typename V::Ints (*sums)[kVectors],
                                               const ConvTile& tile, int64_t pixel) {
  if (tile.reals != nullptr) {
    repeat<kPixels>([&](auto p) TY_INLINE { finish_reals<V, kVectors>(sums[p], tile, pixel + p); });
  } else if (tile.finish->adds) {
    by_stored_pixels<V, kPixels>([&](auto p, auto count) TY_INLINE {
      finish_sum<V, kVectors, decltype(count)::value>(sums + p, tile, pixel + p);
    });
  } else {
    by_stored_pixels<V, kPixels>([&](auto p, auto count) TY_INLINE {
      finish_bytes<V, kVectors, decltype(count)::value>(sums + p, tile, pixel + p);
    });
  }
}

// A tile from `shift` bytes behind where rows say on. Form: how weights lie and meet bytes. This is
// one function, and not in the loop over tiles: else g++ keeps sums in memory.
template <typename V, typename Form, int kVectors, int kPixels>
[[gnu::noinline]] void one_tile(const ConvTile& tile, int64_t shift, int64_t pixel) {
  typename V::Ints sums[kPixels][kVectors];
  repeat<kVectors>([&](auto v) TY_INLINE {
    const typename V::Ints start = V::load(tile.bias + v * V::kLanes);
    repeat<kPixels>([&](auto p) TY_INLINE { sums[p][v] = start; });
  });
  const auto* weights = static_cast<const int8_t*>(tile.weights);
  const int32_t* order = tile.order;
  const int64_t whole = tile.depth / kDepthStep * kDepthStep;
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const uint8_t* const* rows = tile.rows + tap * kMostTilePixels;
    const uint8_t* x[kPixels];
    repeat<kPixels>([&](auto p) TY_INLINE { x[p] = rows[p] + shift; });
    const auto step = [&](const auto& four) TY_INLINE {
      typename Form::Weights w[kVectors];
      repeat<kVectors>([&](auto v) TY_INLINE { w[v] = Form::load(weights + v * Form::kBytes); });
      repeat<kPixels>([&](auto p) TY_INLINE {
        const typename Form::Bytes bytes = Form::spread(four(x[p]));
        repeat<kVectors>([&](auto v)
                             TY_INLINE { sums[p][v] = Form::dot(sums[p][v], bytes, w[v]); });
      });
      weights += kVectors * Form::kBytes;
    };
    if constexpr (Form::kPairs) {
      const int32_t pairs = *order++;
      for (const int32_t* end = order + pairs; order < end; order += 2) {
        typename Form::Weights w[2][kVectors];
        repeat<2 * kVectors>([&](auto v) TY_INLINE {
          w[v / kVectors][v % kVectors] = Form::load(weights + v * Form::kBytes);
        });
        repeat<kPixels>([&](auto p) TY_INLINE {
          const typename Form::Bytes a = Form::spread(load_four(x[p] + order[0]));
          const typename Form::Bytes b = Form::spread(load_four(x[p] + order[1]));
          repeat<kVectors>([&](auto v) TY_INLINE {
            sums[p][v] = Form::dot_two(sums[p][v], a, w[0][v], b, w[1][v]);
          });
        });
        weights += 2 * kVectors * Form::kBytes;
      }
      const int32_t singles = *order++;
      for (const int32_t* end = order + singles; order < end; ++order) {
        step([&](const uint8_t* from) TY_INLINE { return load_four(from + *order); });
      }
    } else {
      for (int64_t k = 0; k < whole; k += kDepthStep) {
        step([&](const uint8_t* from) TY_INLINE { return load_four(from + k); });
      }
    }
    if (whole < tile.depth) {
      step([&](const uint8_t* from)
               TY_INLINE { return load_rest(from + whole, tile.depth - whole); });
    }
  }
  finish_tile<V, kVectors, kPixels>(sums, tile, pixel);
}

template <typename V, typename Form, int kVectors, int kPixels>
void conv_tile(const ConvTile& tile) {
  for (int64_t i = 0; i < tile.tiles; ++i) {
    one_tile<V, Form, kVectors, kPixels>(tile, i * tile.advance, i * kPixels);
  }
}

}  // namespace
}  // namespace trainyard::kernels::native
