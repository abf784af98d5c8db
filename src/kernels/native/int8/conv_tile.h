// The loop of a quantized convolution over one tile, for any kind of vector. Included once by each
// file that defines one; everything is local to that file, since it is compiled for its processor.
#pragma once

#include <cstring>

#include "kernels/native/int8/byte_kernels.h"
#include "kernels/native/repeat.h"

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
  repeat<kVectors>([&](auto v) {
    steps[v] = V::multiply(V::to_floats(sums[v]), V::load(tile.multiplier + v * V::kLanes));
  });
}

template <typename V, int kVectors>
[[gnu::always_inline]] inline void finish_reals(const typename V::Ints* sums, const ConvTile& tile,
                                                int64_t at) {
  typename V::Floats steps[kVectors];
  multiply_steps<V, kVectors>(sums, tile, steps);
  repeat<kVectors>([&](auto v) {
    V::store_some(tile.reals + at + v * V::kLanes, steps[v], tile.channels - v * V::kLanes);
  });
}

template <typename V, int kVectors>
[[gnu::always_inline]] inline void finish_bytes(const typename V::Ints* sums, const ConvTile& tile,
                                                int64_t at) {
  typename V::Floats steps[kVectors];
  multiply_steps<V, kVectors>(sums, tile, steps);
  const Finish& finish = *tile.finish;
  V::template store_bytes<kVectors>(steps, finish.zero, finish.low, finish.high, tile.y + at,
                                    tile.channels);
}

template <typename V, int kVectors>
[[gnu::always_inline]] inline void finish_sum(const typename V::Ints* sums, const ConvTile& tile,
                                              int64_t at) {
  const Finish& finish = *tile.finish;
  typename V::Floats steps[kVectors];
  multiply_steps<V, kVectors>(sums, tile, steps);
  const typename V::Floats low = V::all(static_cast<float>(finish.low - finish.zero));
  const typename V::Floats high = V::all(static_cast<float>(finish.high - finish.zero));
  const typename V::Floats sum_zero = V::all(static_cast<float>(finish.sum_zero));
  repeat<kVectors>([&](auto v) {
    const typename V::Floats own = V::clamp(V::round(steps[v]), low, high);
    const typename V::Floats other = V::subtract(
        V::load_bytes(tile.added + at + v * V::kLanes, tile.channels - v * V::kLanes), sum_zero);
    steps[v] = V::add(V::multiply(own, V::all(finish.own_ratio)),
                      V::multiply(other, V::all(finish.sum_ratio)));
  });
  V::template store_bytes<kVectors>(steps, finish.out_zero, finish.out_low, finish.out_high,
                                    tile.y + at, tile.channels);
}

// Form: how weights lie and meet bytes.
template <typename V, typename Form, int kVectors, int kPixels>
void conv_tile(const ConvTile& tile) {
  typename V::Ints sums[kPixels][kVectors];
  repeat<kVectors>([&](auto v) {
    const typename V::Ints start = V::load(tile.bias + v * V::kLanes);
    repeat<kPixels>([&](auto p) { sums[p][v] = start; });
  });
  const auto* weights = static_cast<const int8_t*>(tile.weights);
  const int64_t whole = tile.depth / kDepthStep * kDepthStep;
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const uint8_t* const* rows = tile.rows + tap * kMostTilePixels;
    const uint8_t* x[kPixels];
    repeat<kPixels>([&](auto p) { x[p] = rows[p]; });
    const auto step = [&](const auto& four) {
      typename Form::Weights w[kVectors];
      repeat<kVectors>([&](auto v) { w[v] = Form::load(weights + v * Form::kBytes); });
      repeat<kPixels>([&](auto p) {
        const typename Form::Bytes bytes = Form::spread(four(x[p]));
        repeat<kVectors>([&](auto v) { sums[p][v] = Form::dot(sums[p][v], bytes, w[v]); });
      });
      weights += kVectors * Form::kBytes;
    };
    for (int64_t k = 0; k < whole; k += kDepthStep) {
      step([&](const uint8_t* from) { return load_four(from + k); });
    }
    if (whole < tile.depth) {
      step([&](const uint8_t* from) { return load_rest(from + whole, tile.depth - whole); });
    }
  }
  if (tile.reals != nullptr) {
    repeat<kPixels>([&](auto p) { finish_reals<V, kVectors>(sums[p], tile, p * tile.stride); });
  } else if (tile.finish->adds) {
    repeat<kPixels>([&](auto p) { finish_sum<V, kVectors>(sums[p], tile, p * tile.stride); });
  } else {
    repeat<kPixels>([&](auto p) { finish_bytes<V, kVectors>(sums[p], tile, p * tile.stride); });
  }
}

}  // namespace
}  // namespace trainyard::kernels::native
