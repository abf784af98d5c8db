// Depthwise convolutions of a training step: Conv with weights that change between runs, and both
// gradients.
#include <algorithm>

#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/depthwise_gradient.h"
#include "engine/kernels/native/conv/depthwise_shape.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/nn/conv.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

int64_t bytes_of(int64_t floats) {
  return floats * static_cast<int64_t>(sizeof(float));
}

// --- forward

std::string_view refuses_forward_depthwise_training(const NodeView& node) {
  if (const std::string_view why = refuses_non_constant_conv(node); !why.empty()) return why;
  if (node.has_input(kConvSum)) return "adding another tensor is not implemented";
  return refuses_depthwise(node, node.input_shape(0), node.input_shape(1),
                           *ops::op_of(node).window(node));
}

class DepthwiseChangingForward final : public Kernel {
 public:
  explicit DepthwiseChangingForward(const NodeView& node)
      : threads_(threads()),
        has_bias_(node.has_input(kConvBias)),
        product_(depthwise_shape(node.input_shape(0), *ops::op_of(node).window(node)),
                 range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    auto* packed = reinterpret_cast<float*>(args.scratch.data());
    product_.pack(args.inputs[1].as<float>(),
                  has_bias_ ? args.inputs[kConvBias].as<float>() : nullptr, /*turned=*/false,
                  packed);
    product_.run(packed, args.inputs[0].as<float>(), args.outputs[0].as<float>(), threads_);
  }
  int64_t scratch_bytes() const override { return bytes_of(product_.packed_floats()); }
  std::string detail() const override { return "depthwise"; }

 private:
  int threads_;
  bool has_bias_;
  DepthwiseProduct product_;
};

std::optional<NodeLayouts> forward_layouts_depthwise_training(const NodeView& node,
                                                              std::span<const Layout> inputs) {
  return conv_layouts(node, inputs.size(), /*blocked_input=*/true);
}

std::unique_ptr<Kernel> create_forward_depthwise_training(const NodeView& node,
                                                          const NodeLayouts& /*layouts*/) {
  return std::make_unique<DepthwiseChangingForward>(node);
}

constexpr KernelDef forward_kernel_depthwise_training(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_forward_depthwise_training,
          .layouts = forward_layouts_depthwise_training,
          .create_in = create_forward_depthwise_training};
}

// --- gradient of the input

ops::Window input_gradient_window(const NodeView& node) {
  return ops::conv_window(node, node.output_shape(0), node.input_shape(1));
}

std::string_view refuses_input_gradient(const NodeView& node) {
  if (const std::string_view why = refuses_conv_gradient(node); !why.empty()) return why;
  const ops::Window window = input_gradient_window(node);
  for (size_t i = 0; i < 2; ++i) {
    if (std::max(window.pads_begin[i], window.pads_end[i]) > 2) {
      return "padding wider than the window is not implemented";
    }
  }
  return refuses_depthwise(node, node.output_shape(0), node.input_shape(1), window);
}

// With stride 1 it is itself a convolution, of dy padded by what the forward window reaches over.
DepthwiseShape turned_shape(const DepthwiseShape& forward) {
  DepthwiseShape shape = forward;
  shape.height = forward.out_height();
  shape.width = forward.out_width();
  shape.pad_top = 2 - forward.pad_top;
  shape.pad_left = 2 - forward.pad_left;
  shape.pad_bottom = 2 - forward.pad_bottom;
  shape.pad_right = 2 - forward.pad_right;
  return shape;
}

class InputGradient final : public Kernel {
 public:
  explicit InputGradient(const NodeView& node)
      : threads_(threads()),
        shape_(depthwise_shape(node.output_shape(0), input_gradient_window(node))),
        product_(shape_.stride == 1 ? turned_shape(shape_) : shape_, kIdentity) {}

  void run(const KernelArgs& args) const override {
    const float* dy = args.inputs[0].as<float>();
    float* dx = args.outputs[0].as<float>();
    auto* packed = reinterpret_cast<float*>(args.scratch.data());
    product_.pack(args.inputs[1].as<float>(), nullptr, /*turned=*/shape_.stride == 1, packed);
    if (shape_.stride == 1) {
      product_.run(packed, dy, dx, threads_);
    } else {
      depthwise_input_gradient_by_two(shape_, packed, dy, dx, threads_);
    }
  }
  int64_t scratch_bytes() const override { return bytes_of(product_.packed_floats()); }
  std::string detail() const override { return "depthwise"; }

 private:
  int threads_;
  DepthwiseShape shape_;  // of the forward convolution
  DepthwiseProduct product_;
};

std::optional<NodeLayouts> input_gradient_layouts(const NodeView& node,
                                                  std::span<const Layout> /*inputs*/) {
  NodeLayouts wanted;
  wanted.inputs = {Layout::channel_blocks(node.input_shape(0), kBlock), Layout()};
  wanted.outputs = {Layout::channel_blocks(node.output_shape(0), kBlock)};
  return wanted;
}

std::unique_ptr<Kernel> create_input_gradient(const NodeView& node,
                                              const NodeLayouts& /*layouts*/) {
  return std::make_unique<InputGradient>(node);
}

// --- gradient of the weights

ops::Window weight_gradient_window(const NodeView& node) {
  return ops::conv_window(node, node.input_shape(0), node.output_shape(0));
}

std::string_view refuses_weight_gradient(const NodeView& node) {
  if (const std::string_view why = refuses_conv_gradient(node); !why.empty()) return why;
  return refuses_depthwise(node, node.input_shape(0), node.output_shape(0),
                           weight_gradient_window(node));
}

class DepthwiseChangingWeightGradient final : public Kernel {
 public:
  explicit DepthwiseChangingWeightGradient(const NodeView& node)
      : threads_(threads()),
        shape_(depthwise_shape(node.input_shape(0), weight_gradient_window(node))),
        zeros_(shape_.width * kBlock) {}

  void run(const KernelArgs& args) const override {
    depthwise_weight_gradient(shape_, args.inputs[0].as<float>(), args.inputs[1].as<float>(),
                              zeros_.data(), args.outputs[0].as<float>(), threads_);
  }
  std::string detail() const override { return "depthwise"; }

 private:
  int threads_;
  DepthwiseShape shape_;
  PackedBuffer zeros_;
};

std::optional<NodeLayouts> weight_gradient_layouts(const NodeView& node,
                                                   std::span<const Layout> /*inputs*/) {
  NodeLayouts wanted;
  wanted.inputs = {Layout::channel_blocks(node.input_shape(0), kBlock),
                   Layout::channel_blocks(node.input_shape(1), kBlock)};
  wanted.outputs.resize(1);
  return wanted;
}

std::unique_ptr<Kernel> create_weight_gradient(const NodeView& node,
                                               const NodeLayouts& /*layouts*/) {
  return std::make_unique<DepthwiseChangingWeightGradient>(node);
}

}  // namespace

extern const KernelDef kDepthwiseNonConstantConv = forward_kernel_depthwise_training("Conv");
extern const KernelDef kDepthwiseNonConstantFusedConv =
    forward_kernel_depthwise_training("FusedConv");
extern const KernelDef kDepthwiseConvGradInput = {.op = "ConvGradInput",
                                                  .library = "native",
                                                  .refuses = refuses_input_gradient,
                                                  .layouts = input_gradient_layouts,
                                                  .create_in = create_input_gradient};
extern const KernelDef kDepthwiseConvGradWeight = {.op = "ConvGradWeight",
                                                   .library = "native",
                                                   .refuses = refuses_weight_gradient,
                                                   .layouts = weight_gradient_layouts,
                                                   .create_in = create_weight_gradient};

}  // namespace trainyard::kernels::native
