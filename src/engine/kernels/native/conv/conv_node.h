// What the native convolutions and linear layers ask of their nodes.
#pragma once

#include <string_view>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/conv/stem_conv.h"
#include "engine/kernels/native/cpu.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::native {

inline constexpr size_t kConvBias = 2;
inline constexpr size_t kConvSum = 3;

// Why no native convolution takes the node; empty if some may: two spatial dimensions, f32,
// constant weights and bias.
std::string_view refuses_constant_conv(const NodeView& node);
// The same, and an activation that is a range around zero.
std::string_view refuses_conv(const NodeView& node);
// The same with weights that change between runs, and maybe so the bias.
std::string_view refuses_non_constant_conv(const NodeView& node);
// The same of ConvGradInput and ConvGradWeight.
std::string_view refuses_conv_gradient(const NodeView& node);

// OIhw8i8o: how non-constant weights lie, and their gradients. oneDNN's forward convolution wants
// them so too.
Layout blocked_weights(const Shape& shape);

// Whether a node's activation is none, Relu or a Clip around zero, and which range that is. Only
// such leave zero at zero, so that padding channels stay zero.
bool has_range_activation(const NodeView& node);
Activation range_activation(const NodeView& node);

bool square_and_dense(const ops::Window& window);
// Of a convolution with a window that is.
StemShape stem_shape(const Shape& image, int64_t out_channels, const ops::Window& window);

// Data of a constant f32 input; null if it is absent.
const float* constant_floats(const NodeView& node, size_t input);

// Input (if blocked_input) and output in blocks of channels, the sum where the output is.
NodeLayouts conv_layouts(const NodeView& node, size_t inputs, bool blocked_input,
                         int64_t block = kVector);

}  // namespace trainyard::kernels::native
