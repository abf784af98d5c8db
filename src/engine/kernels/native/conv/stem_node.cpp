// Conv and FusedConv on plain images with a large window.
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/stem_conv.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

StemShape shape_of_stem_node(const NodeView& node) {
  return stem_shape(node.input_shape(0), node.output_shape(0)[1], *ops::op_of(node).window(node));
}

std::string_view refuses_stem_node(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  if (node.has_input(kConvSum)) return "adding another tensor is not implemented";
  if (!square_and_dense(*ops::op_of(node).window(node))) {
    return "only square windows without dilation are implemented";
  }
  if (!stem_conv_pays(shape_of_stem_node(node))) return "another kernel is expected to be faster";
  return "";
}

class StemKernel final : public Kernel {
 public:
  explicit StemKernel(const NodeView& node)
      : threads_(threads()),
        conv_(shape_of_stem_node(node), constant_floats(node, 1), constant_floats(node, kConvBias),
              range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    conv_.run(args.inputs[0].as<float>(), args.outputs[0].as<float>(), args.scratch.data(),
              threads_);
  }
  int64_t scratch_bytes() const override { return conv_.scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override { return "stem"; }

 private:
  int threads_;
  StemConv conv_;
};

std::optional<NodeLayouts> layouts_stem_node(const NodeView& node, std::span<const Layout> inputs) {
  return conv_layouts(node, inputs.size(), /*blocked_input=*/false);
}

std::unique_ptr<Kernel> create_stem_node(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<StemKernel>(node);
}

}  // namespace

extern const KernelDef kStemConv = {.op = "Conv",
                                    .library = "native",
                                    .refuses = refuses_stem_node,
                                    .layouts = layouts_stem_node,
                                    .create_in = create_stem_node};
extern const KernelDef kStemFusedConv = {.op = "FusedConv",
                                         .library = "native",
                                         .refuses = refuses_stem_node,
                                         .layouts = layouts_stem_node,
                                         .create_in = create_stem_node};

}  // namespace trainyard::kernels::native
