// MatMul by oneDNN, with broadcast batch dimensions.
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/dnnl.h"

namespace trainyard::kernels::onednn {
namespace {

std::string_view refuses_matmul(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  for (size_t i = 0; i < 2; ++i) {
    if (node.input_shape(i).rank() < 2) return "vectors are not implemented";
    if (node.input_shape(i).num_elements() == 0) return "an operand is empty";
  }
  if (node.output_shape(0).rank() > 6) return "more than six dimensions are not implemented";
  return "";
}

// With leading ones up to the rank of the result, as the library does not add them.
Desc operand(const NodeView& node, size_t i) {
  std::vector<int64_t> dims = node.input_shape(i).vector();
  dims.insert(dims.begin(), static_cast<size_t>(node.output_shape(0).rank()) - dims.size(), 1);
  return to_desc({DType::kF32, Shape(std::move(dims))});
}

class MatMul final : public OnednnKernel {
 public:
  explicit MatMul(const NodeView& node)
      : pd_(dnnl::matmul::desc(operand(node, 0), operand(node, 1), to_desc(node.output_type(0))),
            user_scratch_attr(), engine()),
        primitive_(pd_) {}

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    bound->add(primitive_,
               {{DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
                {DNNL_ARG_WEIGHTS, memory_at(pd_.weights_desc(), args.inputs[1].data)},
                {DNNL_ARG_DST, memory_at(pd_.dst_desc(), args.outputs[0].data)},
                {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}});
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  dnnl::matmul::primitive_desc pd_;
  dnnl::matmul primitive_;
};

std::unique_ptr<Kernel> create_matmul(const NodeView& node) {
  return std::make_unique<MatMul>(node);
}

}  // namespace

extern const KernelDef kMatMul = {
    .op = "MatMul", .library = "onednn", .refuses = refuses_matmul, .create = create_matmul};

}  // namespace trainyard::kernels::onednn
