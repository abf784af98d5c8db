// How depthwise kernels keep the numbers of a block of channels: in the order that interleaving the
// bytes of four rows within lanes of 16 gives. Local to the file that includes it.
#pragma once

#include <cstdint>

#include "engine/kernels/native/int8/byte_kernels.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kRowGroup = 4;  // rows of a window that meet their weights together
constexpr int64_t kQuarters = 4;  // vectors that hold the sums of a block
constexpr int64_t kMostRowGroups = kMostDepthwiseRows / kRowGroup;

constexpr int64_t row_groups(int64_t window_rows) {
  return (window_rows + kRowGroup - 1) / kRowGroup;
}

// Channel of sum `at` of a block of so many.
constexpr int64_t ordered_channel(int64_t at, int64_t channels) {
  const int64_t quarter = at / (channels / kQuarters);
  const int64_t i = at % (channels / kQuarters);
  return i / 4 * 16 + quarter * 4 + i % 4;
}

template <int64_t kChannels>
int64_t ordered_bytes(int64_t window_rows, int64_t window_columns) {
  return kChannels * (8 + row_groups(window_rows) * window_columns * kRowGroup);
}

// Biases, multipliers, then weights by group of rows and column. `down`: rows above the window, for
// sums of the row of results below.
template <int64_t kChannels>
int8_t* pack_ordered_weights(const int8_t* weights, int64_t window_rows, int64_t window_columns,
                             int64_t down, int8_t* to) {
  for (int64_t group = 0; group < row_groups(window_rows + down); ++group) {
    for (int64_t column = 0; column < window_columns; ++column) {
      for (int64_t i = 0; i < kChannels * kRowGroup; ++i) {
        const int64_t channel = ordered_channel(i / kRowGroup, kChannels);
        const int64_t row = group * kRowGroup + i % kRowGroup - down;
        *to++ = row >= 0 && row < window_rows
                    ? weights[(channel * window_rows + row) * window_columns + column]
                    : int8_t{0};
      }
    }
  }
  return to;
}

template <int64_t kChannels>
int8_t* pack_ordered(const int8_t* weights, const int32_t* bias, const float* multiplier,
                     int64_t window_rows, int64_t window_columns, void* packed) {
  auto* to_bias = static_cast<int32_t*>(packed);
  auto* to_multiplier = reinterpret_cast<float*>(to_bias + kChannels);
  for (int64_t at = 0; at < kChannels; ++at) {
    to_bias[at] = bias[ordered_channel(at, kChannels)];
    to_multiplier[at] = multiplier[ordered_channel(at, kChannels)];
  }
  return pack_ordered_weights<kChannels>(weights, window_rows, window_columns, 0,
                                         reinterpret_cast<int8_t*>(to_multiplier + kChannels));
}

}  // namespace
}  // namespace trainyard::kernels::native
