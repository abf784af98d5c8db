// Activations and elementary functions by oneDNN, in whatever dense layout their input has.
#include <array>

#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/primitive_kernel.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::algorithm;
using dnnl::eltwise_forward;

struct Row {
  std::string_view op;
  algorithm kind;
  bool keeps_zero;  // f(0) = 0, so that padding stays zero
};

constexpr std::array<Row, 11> kRows = {{{"Elu", algorithm::eltwise_elu, true},
                                        {"Exp", algorithm::eltwise_exp, false},
                                        {"Gelu", algorithm::eltwise_gelu_erf, true},
                                        {"HardSwish", algorithm::eltwise_hardswish, true},
                                        {"LeakyRelu", algorithm::eltwise_relu, true},
                                        {"Sigmoid", algorithm::eltwise_logistic, false},
                                        {"Softplus", algorithm::eltwise_soft_relu, false},
                                        {"Sqrt", algorithm::eltwise_sqrt, true},
                                        {"Swish", algorithm::eltwise_swish, true},
                                        {"Tanh", algorithm::eltwise_tanh, true},
                                        {"Abs", algorithm::eltwise_abs, true}}};

const Row& row_of(const NodeView& node) {
  for (const Row& row : kRows) {
    if (row.op == node.op()) return row;
  }
  TY_CHECK(false, "{} is not in the table", node.op());
  return kRows[0];
}

std::string_view refuses_eltwise(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() == 0 || node.input_shape(0).rank() > 6) {
    return "only one to six dimensions are implemented";
  }
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  return "";
}

eltwise_forward::primitive_desc describe_eltwise(const NodeView& node, const Layout& layout) {
  ops::ActivationSpec parameters = ops::activation_from(node);
  algorithm kind = row_of(node).kind;
  if (node.op() == "Gelu" && parameters.alpha != 0) kind = algorithm::eltwise_gelu_tanh;
  const eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, kind,
                                   to_desc(node.input_type(0), layout), parameters.alpha,
                                   parameters.beta);
  return {desc, user_scratch_attr(), engine()};
}

std::optional<NodeLayouts> layouts_eltwise(const NodeView& node, std::span<const Layout> inputs) {
  const Shape& shape = node.input_shape(0);
  Layout layout = inputs[0];
  const int64_t block = shape.rank() >= 2 ? layout.block_of(1) : 1;
  // The kernels after it rely on padding being 0; exp(0) is not.
  if (block > 1 && !row_of(node).keeps_zero && shape[1] % block != 0) layout = Layout();
  return NodeLayouts{.inputs = {layout}, .outputs = {layout}, .in_place_input = 0};
}

std::unique_ptr<Kernel> create_eltwise(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PrimitiveKernel<eltwise_forward>>(
      describe_eltwise(node, layouts.inputs[0]));
}

constexpr KernelDef eltwise_kernel(std::string_view op) {
  return {.op = op,
          .library = "onednn",
          .refuses = refuses_eltwise,
          .layouts = layouts_eltwise,
          .create_in = create_eltwise};
}

}  // namespace

extern const KernelDef kAbs = eltwise_kernel("Abs");
extern const KernelDef kElu = eltwise_kernel("Elu");
extern const KernelDef kExp = eltwise_kernel("Exp");
extern const KernelDef kGelu = eltwise_kernel("Gelu");
extern const KernelDef kHardSwish = eltwise_kernel("HardSwish");
extern const KernelDef kLeakyRelu = eltwise_kernel("LeakyRelu");
extern const KernelDef kSigmoid = eltwise_kernel("Sigmoid");
extern const KernelDef kSoftplus = eltwise_kernel("Softplus");
extern const KernelDef kSqrt = eltwise_kernel("Sqrt");
extern const KernelDef kSwish = eltwise_kernel("Swish");
extern const KernelDef kTanh = eltwise_kernel("Tanh");

}  // namespace trainyard::kernels::onednn
