// Transpose by oneDNN's reorder: the result read with the input's strides, written dense.
#include <numeric>

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/dnnl.h"

namespace trainyard::kernels::onednn {
namespace {

std::string_view refuses_transpose(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  if (x.dtype != DType::kF32) return kOnlyF32;
  if (x.shape.rank() < 2 || x.shape.rank() > 6) return "only two to six dimensions are implemented";
  if (x.shape.num_elements() == 0) return "the input is empty";
  return "";
}

// How the elements of the result lie in the input.
Desc permuted_desc(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  std::vector<int64_t> reversed(static_cast<size_t>(x.rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<int64_t> own = x.strides();
  std::vector<int64_t> strides;
  for (const int64_t axis : node.attr_ints("perm", reversed)) {
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  return to_desc(node.output_type(0), Layout(std::move(strides), {}));
}

class Transpose final : public OnednnKernel {
 public:
  explicit Transpose(const NodeView& node)
      : from_(permuted_desc(node)), to_(to_desc(node.output_type(0))) {
    const dnnl::reorder::primitive_desc pd(engine(), from_, engine(), to_);
    detail_ = pd.impl_info_str();
    primitive_ = dnnl::reorder(pd);
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    bound->add(primitive_, {{DNNL_ARG_FROM, memory_at(from_, args.inputs[0].data)},
                            {DNNL_ARG_TO, memory_at(to_, args.outputs[0].data)}});
    return bound;
  }
  std::string detail() const override { return detail_; }

 private:
  Desc from_;
  Desc to_;
  dnnl::reorder primitive_;
  std::string detail_;
};

}  // namespace

extern const KernelDef kTranspose = {.op = "Transpose",
                                     .library = "onednn",
                                     .refuses = refuses_transpose,
                                     .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                       return std::make_unique<Transpose>(node);
                                     }};

}  // namespace trainyard::kernels::onednn
