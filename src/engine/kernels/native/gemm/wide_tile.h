// The inner loop of products of matrices for AVX-512. Plain data and pointers only: the file that
// is compiled for such processors includes it.
#pragma once

#include <cstdint>
#include <limits>

namespace trainyard::kernels::native {

inline constexpr int64_t kWideLanes = 16;
inline constexpr int64_t kWideRows = 8;     // of a tile, at most
inline constexpr int64_t kWideVectors = 3;  // at most: 8 x 3 sums fill 24 of 32 registers
inline constexpr int64_t kWideDepth = 32;   // steps between two requests for memory

enum class WideActivation : uint8_t { kRange, kGelu, kGeluByTanh, kSwishOf, kHardSwish, kTanhOf };

// What happens to a sum: activation(factor * sum + bias), then + added.
struct WideFinish {
  float factor = 1;
  WideActivation activation = WideActivation::kRange;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  float slope = 1;  // of Swish: x * sigmoid(slope * x)
};

// c = finish(a b): some rows of `a` by a panel of at most three vectors of `b`.
struct WideTile {
  const float* a = nullptr;
  int64_t a_stride = 0;  // between rows
  int64_t a_step = 1;    // between steps of the depth
  const float* b = nullptr;
  int64_t b_stride = 0;  // between steps of the depth
  int64_t depth = 0;
  int64_t columns = 0;           // of c; what b has beyond them is not read
  const float* bias = nullptr;   // one for each column; may be null
  const float* added = nullptr;  // where c has what; may be null
  float* c = nullptr;
  int64_t c_stride = 0;
  const WideFinish* finish = nullptr;
  // Memory that is needed soon: so many lines of 64 bytes are asked for every kWideDepth steps.
  const float* soon = nullptr;
  int64_t soon_lines = 0;
};
using WideTileFunction = void (*)(const WideTile&);

// By rows and vectors, less one. Ask cpu_has_avx512() first. The sum of an element goes over the
// depth from its beginning to its end, whatever the tile.
WideTileFunction wide_tile(int64_t rows, int64_t vectors);

}  // namespace trainyard::kernels::native
