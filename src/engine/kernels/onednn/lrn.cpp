// LRN (across channels) by oneDNN.
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/layout_choice.h"
#include "engine/kernels/onednn/primitive_kernel.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::lrn_forward;

std::string_view refuses_lrn(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  if (node.attr_int("size", 1) % 2 == 0) return "windows of even size are not implemented";
  return "";
}

lrn_forward::primitive_desc describe_lrn(const NodeView& node, const Layout& layout) {
  const lrn_forward::desc desc(dnnl::prop_kind::forward_inference,
                               dnnl::algorithm::lrn_across_channels,
                               to_desc(node.input_type(0), layout), node.attr_int("size", 1),
                               node.attr_float("alpha", 0.0001F), node.attr_float("beta", 0.75F),
                               node.attr_float("bias", 1.0F));
  return {desc, user_scratch_attr(), engine(), /*allow_empty=*/true};
}

std::optional<NodeLayouts> layouts_lrn(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = blocked_like(inputs[0], node.input_shape(0));
  const auto pd = describe_lrn(node, layout);
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  return NodeLayouts{.inputs = {layout}, .outputs = {layout}};
}

std::unique_ptr<Kernel> create_lrn(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PrimitiveKernel<lrn_forward>>(describe_lrn(node, layouts.inputs[0]));
}

}  // namespace

extern const KernelDef kLRN = {.op = "LRN",
                               .library = "onednn",
                               .refuses = refuses_lrn,
                               .layouts = layouts_lrn,
                               .create_in = create_lrn};

}  // namespace trainyard::kernels::onednn
