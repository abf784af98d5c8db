// The gradient of a 3x3 or 5x5 convolution's weights by Winograd's minimal filtering.
//
// With y = A^T [(G g) * (B^T d)] the gradient is dg = G^T sum of [(B^T d) * (A dy)] over all tiles:
// for each point a matrix product of transformed inputs and transformed gradients, whose inner
// dimension is the tiles.
#pragma once

#include "engine/kernels/native/conv/winograd.h"

namespace trainyard::kernels::native {

// Whether that is expected to beat a direct computation. Measured against oneDNN's direct kernels
// on one core (bench/results/training_conv.md): 1.5 (16 channels) to 5 times its speed.
bool winograd_weight_gradient_pays(const WinogradShape& shape);

inline constexpr WinogradTile kWeightGradientTile = WinogradTile::k4;

class WinogradWeightGradient {
 public:
  // The shape is that of the forward convolution. Error if it is empty, the window is neither 3x3
  // nor 5x5, or the processor lacks AVX2 and FMA.
  WinogradWeightGradient(const WinogradShape& shape, int threads);

  int64_t scratch_bytes() const;

  // src and dy are in nChw8c, dw in OIhw8i8o, all padded with zeros and aligned to 32 bytes;
  // scratch is aligned to 64 bytes. The result does not depend on the number of threads. Does not
  // allocate or throw; may be called from several threads at once, each with its own buffers.
  void run(const float* src, const float* dy, float* dw, void* scratch) const;

  struct Plan {
    int64_t points = 0;
    // More than 1: the tiles are cut into so many segments with sums of their own, whatever the
    // threads, and each thread takes whole segments.
    int64_t segments = 1;
    int64_t chunk_tiles = 0;  // tiles whose transforms are held at a time
    int64_t chunks = 0;       // of a segment
    int64_t in_group = 0;     // blocks of 8 input channels multiplied together
    int64_t in_groups = 0;
    int64_t out_group = 0;  // blocks of 8 output channels multiplied together
    int64_t out_groups = 0;
    int64_t v_stride = 0;  // floats from one point to the next in the transformed input
    int64_t m_stride = 0;  // the same in the transformed gradient

    int64_t units() const { return in_groups * out_groups; }
    // Sums of a pair of channel blocks, and of all pairs of a unit.
    int64_t square_floats() const { return points * 64; }
    int64_t unit_floats() const { return in_group * out_group * square_floats(); }
    int64_t transform_floats() const { return points * (v_stride + m_stride); }
  };

 private:
  WinogradShape shape_;
  int threads_;
  Plan plan_;
};

WinogradWeightGradient::Plan plan_winograd_weight_gradient(const WinogradShape& shape, int threads);

}  // namespace trainyard::kernels::native
