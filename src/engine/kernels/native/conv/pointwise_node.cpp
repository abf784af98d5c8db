// Conv and FusedConv with a 1x1 window.
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/pointwise.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

PointwiseShape shape_of_pointwise_node(const NodeView& node) {
  const Shape& y = node.output_shape(0);
  return {.batch = y[0],
          .in_channels = node.input_shape(0)[1],
          .out_channels = y[1],
          .positions = y[2] * y[3]};
}

bool is_one_position(const ops::Window& window) {
  const std::vector<int64_t> ones = {1, 1};
  const std::vector<int64_t> zeros = {0, 0};
  return window.kernel == ones && window.strides == ones && window.pads_begin == zeros &&
         window.pads_end == zeros;
}

std::string_view refuses_pointwise_node(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (!is_one_position(*ops::op_of(node).window(node))) return "the window is not 1x1";
  if (!pointwise_pays(shape_of_pointwise_node(node))) {
    return "another kernel is expected to be faster";
  }
  return "";
}

class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const NodeView& node, const NodeLayouts& layouts)
      : threads_(threads()),
        has_sum_(node.has_input(kConvSum)),
        conv_(shape_in(node, layouts), constant_floats(node, 1), constant_floats(node, kConvBias),
              range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    conv_.run(args.inputs[0].as<float>(), has_sum_ ? args.inputs[kConvSum].as<float>() : nullptr,
              args.outputs[0].as<float>(), threads_);
  }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override { return "pointwise"; }

 private:
  static PointwiseShape shape_in(const NodeView& node, const NodeLayouts& layouts) {
    PointwiseShape shape = shape_of_pointwise_node(node);
    shape.src_image_stride = layouts.inputs[0].strides()[0];
    shape.dst_image_stride = layouts.outputs[0].strides()[0];
    return shape;
  }

  int threads_;
  bool has_sum_;
  PointwiseConv conv_;
};

std::optional<NodeLayouts> layouts_pointwise_node(const NodeView& node,
                                                  std::span<const Layout> inputs) {
  NodeLayouts wanted = conv_layouts(node, inputs.size(), /*blocked_input=*/true);
  // The added tensor is read with the result's strides.
  wanted.takes_parts = !node.has_input(kConvSum);
  return wanted;
}

std::unique_ptr<Kernel> create_pointwise_node(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PointwiseKernel>(node, layouts);
}

constexpr KernelDef pointwise_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_pointwise_node,
          .layouts = layouts_pointwise_node,
          .create_in = create_pointwise_node};
}

}  // namespace

extern const KernelDef kPointwiseConv = pointwise_kernel("Conv");
extern const KernelDef kPointwiseFusedConv = pointwise_kernel("FusedConv");

}  // namespace trainyard::kernels::native
