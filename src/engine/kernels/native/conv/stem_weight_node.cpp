// ConvGradWeight of the first convolution of an image network.
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/stem_weight_gradient.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/nn/conv.h"

namespace trainyard::kernels::native {
namespace {

ops::Window window_of_stem_weight_node(const NodeView& node) {
  return ops::conv_window(node, node.input_shape(0), node.output_shape(0));
}

StemShape shape_of_stem_weight_node(const NodeView& node) {
  return stem_shape(node.input_shape(0), node.output_shape(0)[0], window_of_stem_weight_node(node));
}

std::string_view refuses_stem_weight_node(const NodeView& node) {
  if (const std::string_view why = refuses_conv_gradient(node); !why.empty()) return why;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (!square_and_dense(window_of_stem_weight_node(node))) {
    return "only square windows without dilation are implemented";
  }
  if (!stem_weight_gradient_pays(shape_of_stem_weight_node(node)))
    return "another kernel is expected to be faster";
  return "";
}

class StemWeightKernel final : public Kernel {
 public:
  explicit StemWeightKernel(const NodeView& node)
      : gradient_(shape_of_stem_weight_node(node), threads()) {}

  void run(const KernelArgs& args) const override {
    gradient_.run(args.inputs[0].as<float>(), args.inputs[1].as<float>(),
                  args.outputs[0].as<float>(), args.scratch.data());
  }
  int64_t scratch_bytes() const override { return gradient_.scratch_bytes(); }
  std::string detail() const override { return "stem"; }

 private:
  StemWeightGradient gradient_;
};

// The weights' gradient in Ohwi8o, as oneDNN's forward convolution has the weights.
std::optional<NodeLayouts> layouts_stem_weight_node(const NodeView& node,
                                                    std::span<const Layout> /*inputs*/) {
  static constexpr int64_t kOrder[] = {0, 2, 3, 1};
  NodeLayouts wanted;
  wanted.inputs = {Layout(), Layout::channel_blocks(node.input_shape(1), kBlock)};
  wanted.outputs = {Layout::dense(node.output_shape(0), kOrder, {{0, kBlock}})};
  return wanted;
}

std::unique_ptr<Kernel> create_stem_weight_node(const NodeView& node,
                                                const NodeLayouts& /*layouts*/) {
  return std::make_unique<StemWeightKernel>(node);
}

}  // namespace

extern const KernelDef kStemConvGradWeight = {.op = "ConvGradWeight",
                                              .library = "native",
                                              .refuses = refuses_stem_weight_node,
                                              .layouts = layouts_stem_weight_node,
                                              .create_in = create_stem_weight_node};

}  // namespace trainyard::kernels::native
