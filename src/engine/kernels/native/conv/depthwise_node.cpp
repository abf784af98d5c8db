// Depthwise Conv and FusedConv with a 3x3 window.
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/depthwise_shape.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_depthwise_node(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  if (node.has_input(kConvSum)) return "adding another tensor is not implemented";
  if (channel_block() != kBlock) return "wider vectors are expected to be faster";
  return refuses_depthwise(node, node.input_shape(0), node.input_shape(1),
                           *ops::op_of(node).window(node));
}

DepthwiseShape shape_of_depthwise_node(const NodeView& node) {
  return depthwise_shape(node.input_shape(0), *ops::op_of(node).window(node));
}

class DepthwiseKernel final : public Kernel {
 public:
  explicit DepthwiseKernel(const NodeView& node)
      : threads_(threads()),
        conv_(shape_of_depthwise_node(node), constant_floats(node, 1),
              constant_floats(node, kConvBias), range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    conv_.run(args.inputs[0].as<float>(), args.outputs[0].as<float>(), threads_);
  }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override { return "depthwise"; }

 private:
  int threads_;
  DepthwiseConv conv_;
};

std::optional<NodeLayouts> layouts_depthwise_node(const NodeView& node,
                                                  std::span<const Layout> inputs) {
  return conv_layouts(node, inputs.size(), /*blocked_input=*/true);
}

std::unique_ptr<Kernel> create_depthwise_node(const NodeView& node,
                                              const NodeLayouts& /*layouts*/) {
  return std::make_unique<DepthwiseKernel>(node);
}

}  // namespace

extern const KernelDef kDepthwiseConv = {.op = "Conv",
                                         .library = "native",
                                         .refuses = refuses_depthwise_node,
                                         .layouts = layouts_depthwise_node,
                                         .create_in = create_depthwise_node};
extern const KernelDef kDepthwiseFusedConv = {.op = "FusedConv",
                                              .library = "native",
                                              .refuses = refuses_depthwise_node,
                                              .layouts = layouts_depthwise_node,
                                              .create_in = create_depthwise_node};

}  // namespace trainyard::kernels::native
