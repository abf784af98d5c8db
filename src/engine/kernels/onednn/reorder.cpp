// Reorder by oneDNN: the same values in another layout.
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/primitive_kernel.h"

namespace trainyard::kernels::onednn {
namespace {

std::string_view refuses_reorder(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).num_elements() == 0) return "the tensor is empty";
  return "";
}

std::unique_ptr<Kernel> create_reorder(const NodeView& node, const NodeLayouts& layouts) {
  const Desc from = to_desc(node.input_type(0), layouts.inputs[0]);
  const Desc to = to_desc(node.output_type(0), layouts.outputs[0]);
  return std::make_unique<PrimitiveKernel<dnnl::reorder>>(
      dnnl::reorder::primitive_desc(engine(), from, engine(), to, user_scratch_attr()));
}

}  // namespace

extern const KernelDef kReorder = {
    .op = "Reorder", .library = "onednn", .refuses = refuses_reorder, .create_in = create_reorder};

}  // namespace trainyard::kernels::onednn
