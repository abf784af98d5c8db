// Reorder by oneDNN: the same values in another layout.
#include "kernels/api/refusals.h"
#include "kernels/onednn/dnnl.h"

namespace trainyard::kernels::onednn {
namespace {

class Reorder final : public OnednnKernel {
 public:
  Reorder(const NodeView& node, const NodeLayouts& layouts)
      : from_(to_desc(node.input_type(0), layouts.inputs[0])),
        to_(to_desc(node.output_type(0), layouts.outputs[0])),
        pd_(engine(), from_, engine(), to_, user_scratch_attr()),
        primitive_(pd_) {}

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    bound->add(primitive_,
               {{DNNL_ARG_FROM, memory_at(from_, args.inputs[0].data)},
                {DNNL_ARG_TO, memory_at(to_, args.outputs[0].data)},
                {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}});
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  Desc from_;
  Desc to_;
  dnnl::reorder::primitive_desc pd_;
  dnnl::reorder primitive_;
};

std::string_view refuses_reorder(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).num_elements() == 0) return "the tensor is empty";
  return "";
}

std::unique_ptr<Kernel> create_reorder(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Reorder>(node, layouts);
}

}  // namespace

extern const KernelDef kReorder = {
    .op = "Reorder", .library = "onednn", .refuses = refuses_reorder, .create_in = create_reorder};

}  // namespace trainyard::kernels::onednn
