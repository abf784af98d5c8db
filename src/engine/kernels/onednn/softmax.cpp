// Softmax and LogSoftmax by oneDNN.
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/primitive_kernel.h"

namespace trainyard::kernels::onednn {
namespace {

std::string_view refuses_softmax(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() == 0) return "the input is a scalar";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  return "";
}

template <typename Primitive>
std::unique_ptr<Kernel> create_softmax(const NodeView& node) {
  const auto axis = static_cast<int>(
      normalize_axis(node.attr_int("axis", -1), node.input_shape(0).rank(), node.op()));
  const typename Primitive::desc desc(dnnl::prop_kind::forward_inference,
                                      to_desc(node.input_type(0)), axis);
  return std::make_unique<PrimitiveKernel<Primitive>>(
      typename Primitive::primitive_desc(desc, user_scratch_attr(), engine()));
}

}  // namespace

extern const KernelDef kSoftmax = {.op = "Softmax",
                                   .library = "onednn",
                                   .refuses = refuses_softmax,
                                   .create = create_softmax<dnnl::softmax_forward>};
extern const KernelDef kLogSoftmax = {.op = "LogSoftmax",
                                      .library = "onednn",
                                      .refuses = refuses_softmax,
                                      .create = create_softmax<dnnl::logsoftmax_forward>};

}  // namespace trainyard::kernels::onednn
