// What the quantized operators that the compiler makes say about their eight-bit tensors. A number
// q of a tensor means scale * (q - zero); scales come as ratios, since only those count.
#pragma once

#include <cstdint>
#include <span>

#include "ir/node_view.h"
#include "ops/op_def.h"

namespace trainyard::ops {

inline constexpr size_t kQuantizedBias = 2;
inline constexpr size_t kQuantizedMultiplier = 3;
inline constexpr size_t kQuantizedSum = 4;

// How steps become u8: clamp(round(steps) + zero, low, high), ties to even.
struct StepsToBytes {
  int64_t zero = 0;
  int64_t low = 0;
  int64_t high = 255;
};

// Of the node's result; of QuantizedConv with a sum: of the convolution before the sum.
StepsToBytes result_bytes(const NodeView& node);
// Of QuantizedConv with a sum: after it.
StepsToBytes summed_bytes(const NodeView& node);

// clamp(...) of steps in f32. NaN becomes the smallest.
uint8_t to_byte(float steps, const StepsToBytes& bytes);

// Does every sum of u8 times these weights, the zero point taken off, plus bias fit 32 bits, also
// halfway, and every product with the multiplier too? Only such are computed in 32 bits. `depth`
// weights per output channel lie together.
bool sums_fit(std::span<const int8_t> weights, int64_t depth, std::span<const int32_t> bias,
              std::span<const float> multiplier, int64_t x_zero);

}  // namespace trainyard::ops
