// The inner loop of direct convolutions for AVX-512 on images in blocks of channels. Plain data and
// pointers only: the file that is compiled for such processors includes it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

inline constexpr int64_t kDirectLanes = 16;
// The sums of a tile, positions times vectors of output channels, take at most this many of 32
// registers.
inline constexpr int64_t kDirectSums = 28;
inline constexpr int64_t kDirectVectors = 4;  // at most

// Output positions side by side that a tile of so many vectors may have.
constexpr int64_t direct_positions(int64_t vectors) {
  constexpr int64_t kMost = 14;  // of one vector, whose sums would have room for more
  return kDirectSums / vectors < kMost ? kDirectSums / vectors : kMost;
}

// y = min(max(sum of x and weights + (bias or y) + added, low), high) at some neighboring positions
// for some vectors of channels, over a part of the input channels.
struct DirectTile {
  const float* x = nullptr;
  int64_t x_plane = 0;            // between blocks of input channels
  const int64_t* taps = nullptr;  // of the window: offsets from x
  int64_t num_taps = 0;
  int64_t in_channels = 0;         // whole blocks, or in the last part a multiple of 8
  const float* weights = nullptr;  // [block of input channels][tap][channel][16 x vectors]
  const float* bias = nullptr;     // [16 x vectors]; null: the sums go on from what y has
  const float* added = nullptr;    // where y has what; may be null
  float* y = nullptr;
  int64_t y_plane = 0;
  int64_t out_blocks = 0;  // that y has; the other channels are padding of the weights
  float low = 0;
  float high = 0;
  // To be fetched meanwhile: weights, so many lines with each block and tap, and the input that
  // lies so many floats behind x; 0: none.
  const float* next = nullptr;
  int64_t next_lines = 0;
  int64_t x_ahead = 0;
};
using DirectTileFunction = void (*)(const DirectTile&);

// Positions from 1 to direct_positions(vectors); 1, 2 or 4 vectors; blocks of 8 or 16 channels.
// Ask cpu_has_avx512() first.
DirectTileFunction direct_tile(int64_t positions, int64_t vectors, int64_t block);

}  // namespace trainyard::kernels::native
