// Depthwise Conv and FusedConv with a 3x3 window.
#include "kernels/native/conv_node.h"
#include "kernels/native/depthwise.h"
#include "kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  const int64_t channels = node.input_shape(0)[1];
  if (node.attr_int("group", 1) != channels || node.output_shape(0)[1] != channels) {
    return "not one filter per channel";
  }
  if (node.has_input(kConvSum)) return "adding another tensor is not implemented";
  const ops::Window window = *ops::op_of(node).window(node);
  if (window.kernel != std::vector<int64_t>{3, 3} ||
      window.dilations != std::vector<int64_t>{1, 1} || window.strides[0] != window.strides[1] ||
      window.strides[0] > 2) {
    return "only windows of 3x3 with stride 1 or 2 are implemented";
  }
  return "";
}

DepthwiseShape shape_of(const NodeView& node) {
  const ops::Window window = *ops::op_of(node).window(node);
  const Shape& x = node.input_shape(0);
  return {.batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .stride = window.strides[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1]};
}

class DepthwiseKernel final : public Kernel {
 public:
  explicit DepthwiseKernel(const NodeView& node)
      : threads_(threads()),
        conv_(shape_of(node), constant_floats(node, 1), constant_floats(node, kConvBias),
              range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    conv_.run(args.inputs[0].as<float>(), args.outputs[0].as<float>(), threads_);
  }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override { return "depthwise"; }

 private:
  int threads_;
  DepthwiseConv conv_;
};

std::optional<NodeLayouts> layouts(const NodeView& node, std::span<const Layout> inputs) {
  return conv_layouts(node, inputs.size(), /*blocked_input=*/true);
}

std::unique_ptr<Kernel> create(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<DepthwiseKernel>(node);
}

}  // namespace

extern const KernelDef kDepthwiseConv = {
    .op = "Conv", .library = "native", .refuses = refuses, .layouts = layouts, .create_in = create};
extern const KernelDef kDepthwiseFusedConv = {.op = "FusedConv",
                                              .library = "native",
                                              .refuses = refuses,
                                              .layouts = layouts,
                                              .create_in = create};

}  // namespace trainyard::kernels::native
