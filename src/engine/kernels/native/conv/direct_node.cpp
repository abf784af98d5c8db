// Conv and FusedConv as the plain sum, for AVX-512.
#include <fmt/core.h>

#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/direct_conv.h"
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/math/activation.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

DirectShape shape_of_direct_node(const NodeView& node) {
  const ops::Window window = *ops::op_of(node).window(node);
  const Shape& x = node.input_shape(0);
  return {.batch = x[0],
          .in_channels = x[1],
          .out_channels = node.output_shape(0)[1],
          .height = x[2],
          .width = x[3],
          .kernel = window.kernel[0],
          .stride = window.strides[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1],
          .block = channel_block()};
}

// Of activations that are not ranges; null: it is one.
DirectFinish finish_after(const NodeView& node) {
  const std::string activation = ops::activation_of(node).op;
  if (activation == "Swish") return wide_swish;
  if (activation == "HardSwish") return wide_hard_swish;
  return nullptr;
}

std::string_view refuses_direct_node(const NodeView& node) {
  if (const std::string_view why = refuses_constant_conv(node); !why.empty()) return why;
  if (!has_range_activation(node) && finish_after(node) == nullptr) {
    return "the activation is not implemented";
  }
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (!square_and_dense(*ops::op_of(node).window(node))) {
    return "only square windows without dilation are implemented";
  }
  if (!direct_pays(shape_of_direct_node(node))) return "another kernel is expected to be faster";
  return "";
}

class DirectKernel final : public Kernel {
 public:
  DirectKernel(const NodeView& node, const NodeLayouts& layouts)
      : threads_(threads()),
        has_sum_(node.has_input(kConvSum)),
        kernel_(shape_of_direct_node(node).kernel),
        conv_(shape_in(node, layouts), constant_floats(node, 1), constant_floats(node, kConvBias),
              range_activation(node)) {
    conv_.set_finish(finish_after(node), ops::activation_of(node).alpha);
  }

  void run(const KernelArgs& args) const override {
    conv_.run(args.inputs[0].as<float>(), has_sum_ ? args.inputs[kConvSum].as<float>() : nullptr,
              args.outputs[0].as<float>(), args.scratch.data(), threads_);
  }
  int64_t scratch_bytes() const override { return conv_.scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override { return fmt::format("direct {0}x{0}", kernel_); }

 private:
  static DirectShape shape_in(const NodeView& node, const NodeLayouts& layouts) {
    DirectShape shape = shape_of_direct_node(node);
    shape.src_image_stride = layouts.inputs[0].strides()[0];
    shape.dst_image_stride = layouts.outputs[0].strides()[0];
    return shape;
  }

  int threads_;
  bool has_sum_;
  int64_t kernel_;
  DirectConv conv_;
};

std::optional<NodeLayouts> layouts_direct_node(const NodeView& node,
                                               std::span<const Layout> inputs) {
  NodeLayouts wanted = conv_layouts(node, inputs.size(), /*blocked_input=*/true, channel_block());
  // The added tensor is read with the result's strides.
  wanted.takes_parts = !node.has_input(kConvSum);
  return wanted;
}

std::unique_ptr<Kernel> create_direct_node(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<DirectKernel>(node, layouts);
}

constexpr KernelDef direct_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_direct_node,
          .layouts = layouts_direct_node,
          .create_in = create_direct_node};
}

}  // namespace

extern const KernelDef kDirectConv = direct_kernel("Conv");
extern const KernelDef kDirectFusedConv = direct_kernel("FusedConv");

}  // namespace trainyard::kernels::native
