// Unary and binary families, one number after another.
#include <array>

#include "engine/kernels/device/scalar_codes.h"
#include "ops/math/activation.h"
#include "ops/math/scalar_functions.h"

namespace trainyard::kernels::on_device {
namespace {

constexpr int64_t kRank = 4;

std::string_view refuses_clip(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return ops::activation_from(node).op.empty() ? "the bounds are not known before the run" : "";
}

std::unique_ptr<Kernel> unary_kernel(const NodeView& node, Device& device, double alpha,
                                     double beta) {
  const int64_t count = node.output_shape(0).num_elements();
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("elementwise", "elementwise_unary", line_grid(count)).input(0).output(0);
  kernel->integer(count).integer(*scalar_code(node.op())).number(alpha).number(beta);
  return kernel;
}

std::unique_ptr<Kernel> create_unary(const NodeView& node, const NodeLayouts&, Device& device) {
  return unary_kernel(node, device, ops::unary_alpha(node), ops::unary_beta(node));
}

std::unique_ptr<Kernel> create_clip(const NodeView& node, const NodeLayouts&, Device& device) {
  const ops::ActivationSpec clip = ops::activation_from(node);
  return unary_kernel(node, device, clip.alpha, clip.beta);
}

constexpr std::array<std::string_view, 6> kBinaries = {"Add", "Sub", "Mul", "Div", "Max", "Min"};

std::string_view refuses_binary(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  if (node.num_inputs() != 2) return "only two inputs are implemented";
  return node.output_shape(0).rank() > kRank ? "only four dimensions are implemented" : "";
}

// With ones in front.
template <typename Values>
std::array<int64_t, kRank> in_four(const Values& values, int64_t front) {
  std::array<int64_t, kRank> four = {front, front, front, front};
  std::copy(values.begin(), values.end(), four.end() - static_cast<std::ptrdiff_t>(values.size()));
  return four;
}

std::unique_ptr<Kernel> create_binary(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& shape = node.output_shape(0);
  const auto* code = std::find(kBinaries.begin(), kBinaries.end(), node.op());
  const auto dims = in_four(shape.dims(), 1);
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("elementwise", "elementwise_binary", line_grid(shape.num_elements()));
  kernel->input(0).input(1).output(0);
  kernel->integer(shape.num_elements()).integer(code - kBinaries.begin());
  kernel->integers(std::span(dims).subspan(1));
  kernel->integers(in_four(broadcast_strides(node.input_shape(0), shape), 0));
  kernel->integers(in_four(broadcast_strides(node.input_shape(1), shape), 0));
  return kernel;
}

}  // namespace

#define UNARY(name) extern const KernelDef k##name = device_def(#name, refuses_types, create_unary);
UNARY(Abs)
UNARY(Ceil)
UNARY(Elu)
UNARY(Exp)
UNARY(Floor)
UNARY(HardSigmoid)
UNARY(HardSwish)
UNARY(LeakyRelu)
UNARY(Log)
UNARY(Neg)
UNARY(Reciprocal)
UNARY(Relu)
UNARY(Sigmoid)
UNARY(Softplus)
UNARY(Sqrt)
UNARY(Tanh)
#undef UNARY

extern const KernelDef kClip = device_def("Clip", refuses_clip, create_clip);

#define BINARY(name) \
  extern const KernelDef k##name = device_def(#name, refuses_binary, create_binary);
BINARY(Add)
BINARY(Div)
BINARY(Max)
BINARY(Min)
BINARY(Mul)
BINARY(Sub)
#undef BINARY

}  // namespace trainyard::kernels::on_device
