// ConvGradWeight by Winograd's minimal filtering.
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/winograd_node.h"
#include "engine/kernels/native/conv/winograd_weight_gradient.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

ops::Window window_of_winograd_weight_node(const NodeView& node) {
  return ops::conv_window(node, node.input_shape(0), node.output_shape(0));
}

WinogradShape shape_of_winograd_weight_node(const NodeView& node) {
  return winograd_shape(node.input_shape(0), node.output_shape(0),
                        window_of_winograd_weight_node(node));
}

std::string_view refuses_winograd_weight_node(const NodeView& node) {
  if (const std::string_view why = refuses_conv_gradient(node); !why.empty()) return why;
  if (!is_winograd_window(window_of_winograd_weight_node(node))) return kNotWinogradWindow;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (!winograd_weight_gradient_pays(shape_of_winograd_weight_node(node))) {
    return "the plain sum is expected to be faster";
  }
  return "";
}

class WinogradWeightNodeWeightGradient final : public Kernel {
 public:
  explicit WinogradWeightNodeWeightGradient(const NodeView& node)
      : gradient_(shape_of_winograd_weight_node(node), threads()) {}

  void run(const KernelArgs& args) const override {
    gradient_.run(args.inputs[0].as<float>(), args.inputs[1].as<float>(),
                  args.outputs[0].as<float>(), args.scratch.data());
  }
  int64_t scratch_bytes() const override { return gradient_.scratch_bytes(); }
  std::string detail() const override { return "winograd 4x4"; }

 private:
  WinogradWeightGradient gradient_;
};

std::optional<NodeLayouts> layouts_winograd_weight_node(const NodeView& node,
                                                        std::span<const Layout> /*inputs*/) {
  NodeLayouts wanted;
  wanted.inputs = {Layout::channel_blocks(node.input_shape(0), kBlock),
                   Layout::channel_blocks(node.input_shape(1), kBlock)};
  wanted.outputs = {blocked_weights(node.output_shape(0))};
  return wanted;
}

std::unique_ptr<Kernel> create_winograd_weight_node(const NodeView& node,
                                                    const NodeLayouts& /*layouts*/) {
  return std::make_unique<WinogradWeightNodeWeightGradient>(node);
}

}  // namespace

extern const KernelDef kConvGradWeight = {.op = "ConvGradWeight",
                                          .library = "native",
                                          .refuses = refuses_winograd_weight_node,
                                          .layouts = layouts_winograd_weight_node,
                                          .create_in = create_winograd_weight_node};

}  // namespace trainyard::kernels::native
