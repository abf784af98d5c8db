// Conv with weights that change between runs, and ConvGradInput, by Winograd's minimal filtering.
#include <algorithm>

#include <fmt/core.h>

#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/winograd_filter.h"
#include "engine/kernels/native/conv/winograd_node.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

// Filters are transformed in each run, either all before the product or, `late_`, one block of
// panels at a time while it is in the cache.
class ChangingWinograd : public Kernel {
 public:
  ChangingWinograd(const WinogradShape& shape, FilterUse use, Activation activation)
      : product_(shape, *training_winograd_pays(shape), WinogradWeights::kNonConstant, activation),
        use_(use),
        threads_(threads()),
        late_(product_.transforms_late(threads_)) {}

  void run(const KernelArgs& args) const override {
    // Scratch: weights (unless late), bias, then that of the product. Sizes are multiples of a
    // cache line.
    auto* weights = reinterpret_cast<float*>(args.scratch.data());
    float* bias = weights + weight_floats();
    const ChangingFilters filters(product_, use_, args.inputs[1].as<float>());
    if (!late_) filters.transform_all(weights, threads_);
    // Channels that fill up the last panel need a bias of zero.
    std::fill_n(bias, product_.bias_floats(), 0.0F);
    if (const float* given = bias_of(args)) {
      std::copy_n(given, product_.shape().out_channels, bias);
    }
    product_.run({late_ ? nullptr : weights, bias, args.inputs[0].as<float>(), residual_of(args),
                  args.outputs[0].as<float>(), &filters},
                 bias + product_.bias_floats(), threads_);
  }
  int64_t scratch_bytes() const override {
    return (weight_floats() + product_.bias_floats()) * static_cast<int64_t>(sizeof(float)) +
           product_.scratch_bytes(threads_);
  }
  std::string detail() const override {
    const auto edge = static_cast<int>(product_.tile());
    return fmt::format("winograd {}x{}", edge, edge);
  }

 private:
  // Of the weights that are transformed at once.
  int64_t weight_floats() const { return late_ ? 0 : product_.weight_floats(); }
  virtual const float* bias_of(const KernelArgs& /*args*/) const { return nullptr; }
  virtual const float* residual_of(const KernelArgs& /*args*/) const { return nullptr; }

  WinogradProduct product_;
  FilterUse use_;
  int threads_;
  bool late_;
};

class WinogradChangingForward final : public ChangingWinograd {
 public:
  WinogradChangingForward(const NodeView& node, const NodeLayouts& layouts)
      : ChangingWinograd(strided(forward_shape(node), layouts), FilterUse::kForward,
                         range_activation(node)),
        has_bias_(node.has_input(kConvBias)),
        has_sum_(node.has_input(kConvSum)) {}

 private:
  // Inputs and outputs may be parts of larger tensors, of which only the stride of images differs.
  static WinogradShape strided(WinogradShape shape, const NodeLayouts& layouts) {
    shape.src_image_stride = layouts.inputs[0].strides()[0];
    shape.dst_image_stride = layouts.outputs[0].strides()[0];
    return shape;
  }
  const float* bias_of(const KernelArgs& args) const override {
    return has_bias_ ? args.inputs[kConvBias].as<float>() : nullptr;
  }
  const float* residual_of(const KernelArgs& args) const override {
    return has_sum_ ? args.inputs[kConvSum].as<float>() : nullptr;
  }

  bool has_bias_;
  bool has_sum_;
};

std::string_view refuses_forward_winograd_training(const NodeView& node) {
  if (const std::string_view why = refuses_non_constant_conv(node); !why.empty()) return why;
  if (!is_winograd_window(*ops::op_of(node).window(node))) return kNotWinogradWindow;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (!training_winograd_pays(forward_shape(node))) return "the plain sum is expected to be faster";
  return "";
}

std::optional<NodeLayouts> forward_layouts_winograd_training(const NodeView& node,
                                                             std::span<const Layout> inputs) {
  NodeLayouts wanted = conv_layouts(node, inputs.size(), /*blocked_input=*/true);
  wanted.inputs[1] = blocked_weights(node.input_shape(1));
  // The added tensor is read with the result's strides.
  wanted.takes_parts = !node.has_input(kConvSum);
  return wanted;
}

std::unique_ptr<Kernel> create_forward_winograd_training(const NodeView& node,
                                                         const NodeLayouts& layouts) {
  return std::make_unique<WinogradChangingForward>(node, layouts);
}

constexpr KernelDef forward_kernel_winograd_training(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_forward_winograd_training,
          .layouts = forward_layouts_winograd_training,
          .create_in = create_forward_winograd_training};
}

// dx is the convolution of dy, padded by what the forward window reaches over.
WinogradShape gradient_shape(const NodeView& node) {
  const Shape& dx = node.output_shape(0);
  const Shape& dy = node.input_shape(0);
  const ops::Window window = ops::conv_window(node, dx, node.input_shape(1));
  const int64_t reach = window.kernel[0] - 1;
  return {.batch = dy[0],
          .in_channels = dy[1],
          .out_channels = dx[1],
          .height = dy[2],
          .width = dy[3],
          .kernel = window.kernel[0],
          .pad_top = reach - window.pads_begin[0],
          .pad_left = reach - window.pads_begin[1],
          .pad_bottom = reach - window.pads_end[0],
          .pad_right = reach - window.pads_end[1]};
}

std::string_view refuses_gradient(const NodeView& node) {
  if (const std::string_view why = refuses_conv_gradient(node); !why.empty()) return why;
  const ops::Window window = ops::conv_window(node, node.output_shape(0), node.input_shape(1));
  if (!is_winograd_window(window)) return kNotWinogradWindow;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  const WinogradShape shape = gradient_shape(node);
  if (std::min({shape.pad_top, shape.pad_left, shape.pad_bottom, shape.pad_right}) < 0) {
    return "padding wider than the window is not implemented";
  }
  if (!training_winograd_pays(shape)) return "the plain sum is expected to be faster";
  return "";
}

std::optional<NodeLayouts> gradient_layouts(const NodeView& node,
                                            std::span<const Layout> /*inputs*/) {
  NodeLayouts wanted;
  wanted.inputs = {Layout::channel_blocks(node.input_shape(0), kBlock),
                   blocked_weights(node.input_shape(1))};
  wanted.outputs = {Layout::channel_blocks(node.output_shape(0), kBlock)};
  return wanted;
}

// The filters are turned by 180 degrees and their channels exchanged by FilterUse::kGradientInput.
std::unique_ptr<Kernel> create_gradient(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<ChangingWinograd>(gradient_shape(node), FilterUse::kGradientInput,
                                            kIdentity);
}

}  // namespace

extern const KernelDef kNonConstantConv = forward_kernel_winograd_training("Conv");
extern const KernelDef kNonConstantFusedConv = forward_kernel_winograd_training("FusedConv");
extern const KernelDef kConvGradInput = {.op = "ConvGradInput",
                                         .library = "native",
                                         .refuses = refuses_gradient,
                                         .layouts = gradient_layouts,
                                         .create_in = create_gradient};

}  // namespace trainyard::kernels::native
