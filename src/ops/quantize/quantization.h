// Checks that the quantized operators share: eight-bit operands, their scales and zero points.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "ir/node_view.h"

namespace trainyard::ops {

// The inputs at `positions` are u8 or i8.
void require_eight_bits(const NodeView& node, std::initializer_list<size_t> positions);

// The scale at `position` is a float: one number, or one for each of `count` channels, rows or
// columns.
void require_scale(const NodeView& node, size_t position, int64_t count);

// The zero point at `position`, if there, is of the same type as the input `operand` it belongs to,
// and counts as a scale does.
void require_zero_point(const NodeView& node, size_t position, size_t operand, int64_t count);

// What follows exact sums: y = sum * scale + bias in f32, each rounded, one scale for all or one
// for each output channel or column; a bias, if there, for each.
inline constexpr size_t kScalingFactor = 4;
inline constexpr size_t kScalingBias = 5;
void require_scaling(const NodeView& node, int64_t channels);

}  // namespace trainyard::ops
