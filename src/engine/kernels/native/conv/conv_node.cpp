// What the native convolutions and linear layers ask of their nodes.
#include "engine/kernels/native/conv/conv_node.h"

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::native {

bool has_range_activation(const NodeView& node) {
  const ops::ActivationSpec activation = ops::activation_of(node);
  // Ranges that hold 0: padding of channels, which is 0, stays 0.
  return activation.op.empty() || activation.op == "Relu" ||
         (activation.op == "Clip" && activation.alpha <= 0 && activation.beta >= 0);
}

namespace {

std::string_view refuses_image(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
}

}  // namespace

std::string_view refuses_constant_conv(const NodeView& node) {
  if (const std::string_view why = refuses_image(node); !why.empty()) return why;
  // Packed once at creation; weights that change are the next function's.
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
  if (node.has_input(kConvBias) && node.input_constant(kConvBias) == nullptr) {
    return "the bias is not constant";
  }
  return "";
}

std::string_view refuses_conv(const NodeView& node) {
  if (const std::string_view why = refuses_constant_conv(node); !why.empty()) return why;
  if (!has_range_activation(node)) return "the activation is not implemented";
  return "";
}

std::string_view refuses_non_constant_conv(const NodeView& node) {
  if (const std::string_view why = refuses_image(node); !why.empty()) return why;
  if (node.input_constant(1) != nullptr) return "the weights are constant";
  if (!has_range_activation(node)) return "the activation is not implemented";
  return "";
}

std::string_view refuses_conv_gradient(const NodeView& node) {
  if (const std::string_view why = refuses_image(node); !why.empty()) return why;
  if (node.input_shape(0).num_elements() == 0 || node.input_shape(1).num_elements() == 0) {
    return "an input is empty";
  }
  return "";
}

Layout blocked_weights(const Shape& shape) {
  static constexpr int64_t kOrder[] = {0, 1, 2, 3};
  return Layout::dense(shape, kOrder, {{1, kBlock}, {0, kBlock}});
}

Activation range_activation(const NodeView& node) {
  const ops::ActivationSpec activation = ops::activation_of(node);
  if (activation.op == "Relu") return kRelu;
  if (activation.op == "Clip") return {activation.alpha, activation.beta};
  return kIdentity;
}

bool square_and_dense(const ops::Window& window) {
  return window.kernel[0] == window.kernel[1] && window.strides[0] == window.strides[1] &&
         window.dilations == std::vector<int64_t>{1, 1};
}

StemShape stem_shape(const Shape& image, int64_t out_channels, const ops::Window& window) {
  return {.batch = image[0],
          .in_channels = image[1],
          .out_channels = out_channels,
          .height = image[2],
          .width = image[3],
          .kernel = window.kernel[0],
          .stride = window.strides[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1]};
}

const float* constant_floats(const NodeView& node, size_t input) {
  const Tensor* tensor = node.input_constant(input);
  return tensor == nullptr ? nullptr : tensor->values<float>().data();
}

NodeLayouts conv_layouts(const NodeView& node, size_t inputs, bool blocked_input, int64_t block) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs);
  if (blocked_input) wanted.inputs[0] = Layout::channel_blocks(node.input_shape(0), block);
  wanted.outputs = {Layout::channel_blocks(node.output_shape(0), block)};
  if (node.has_input(kConvSum)) {
    wanted.inputs[kConvSum] = wanted.outputs[0];
    // The sum is added where it lies, which saves a pass over memory.
    wanted.in_place_input = kConvSum;
  }
  return wanted;
}

}  // namespace trainyard::kernels::native
