// MatMul, Gemm and FusedGemm.
#include "engine/kernels/torch/plugin/activation.h"
#include "engine/kernels/torch/plugin/precision.h"

namespace trainyard::torch_plugin {
namespace {

Run make_matmul(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    if (rounds_factors()) {
      y.copy_(product(at::matmul(factor(in[0]), factor(in[1]))));
    } else {
      at::matmul_out(y, in[0], in[1]);
    }
  };
}

const char* refuses_gemm(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  return refuses_activation(node);
}

Run make_gemm(const Node& node) {
  const bool flip_a = node.attr_int("transA", 0) != 0;
  const bool flip_b = node.attr_int("transB", 0) != 0;
  const double alpha = node.attr_float("alpha", 1);
  const double beta = node.attr_float("beta", 1);
  const bool activates = node.has_attr("activation");
  const Activation activate = activation_of(node);
  return [=](const Tensors& in, const Tensors& out) {
    const Tensor a = flip_a ? in[0].t() : in[0];
    const Tensor b = flip_b ? in[1].t() : in[1];
    Tensor y = out[0];
    if (rounds_factors()) {
      y.copy_(product(at::mm(factor(a), factor(b)))).mul_(alpha);
      if (in.size() > 2 && in[2].defined()) y.add_(in[2], beta);
    } else if (in.size() > 2 && in[2].defined()) {
      at::addmm_out(y, in[2], a, b, beta, alpha);
    } else {
      at::mm_out(y, a, b);
      if (alpha != 1) y.mul_(alpha);
    }
    if (activates) activate(y, y);
  };
}

constexpr Operator kProducts[] = {
    {"FusedGemm", refuses_gemm, make_gemm},
    {"Gemm", refuses_gemm, make_gemm},
    {"MatMul", refuses_unless_f32, make_matmul},
};

}  // namespace

std::span<const Operator> matmul_operators() {
  return kProducts;
}

}  // namespace trainyard::torch_plugin
