// How a Winograd convolution is cut into blocks that fit the caches, and shared between threads.
#pragma once

#include <cstdint>

#include "engine/kernels/native/conv/winograd.h"

namespace trainyard::kernels::native {

struct WinogradPlan {
  int64_t points = 0;     // multiplications per tile and channel pair: (edge + kernel - 1)^2
  int64_t tile_rows = 0;  // tiles per image, down
  int64_t tile_columns = 0;
  int64_t tiles = 0;       // in the whole batch
  int64_t in_blocks = 0;   // of 8 input channels
  int64_t out_blocks = 0;  // of 8 output channels
  int64_t src_image = 0;   // floats from one image to the next
  int64_t dst_image = 0;
  int64_t panels = 0;  // of 16 output channels
  // True: all threads transform one block of tiles together and each multiplies some panels, so
  // each weight is read by one thread. False: each thread takes its own tiles through all steps.
  bool split_panels = false;
  int64_t block_tiles = 0;   // tiles whose transformed input is held at a time
  int64_t block_panels = 0;  // panels whose products are held at a time
  int64_t v_stride = 0;      // floats from one point to the next in the transformed input
  int64_t m_stride = 0;      // the same in the products
  // Non-constant weights: transformed panel by panel when they are wanted, and dropped. Large
  // weights would otherwise go to memory and back.
  bool late_filters = false;
  int64_t panel_floats = 0;  // of the transformed weights of a panel

  int64_t v_floats() const { return points * v_stride; }
  int64_t m_floats() const { return points * m_stride; }
  // Of the weights that a thread transforms for itself.
  int64_t filter_floats() const { return late_filters ? block_panels * panel_floats : 0; }
};

// The floats from one point of the tiles to the next: an odd number of cache lines, so that the
// points of a tile fall into different cache sets.
int64_t spread_stride(int64_t floats);

WinogradPlan plan_winograd(const WinogradShape& shape, WinogradTile tile, WinogradWeights weights,
                           int threads);

}  // namespace trainyard::kernels::native
