#include "ops/math/activation.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"

namespace trainyard::ops {

double ActivationSpec::operator()(double x) const {
  if (op.empty()) return x;
  if (op == "Clip") return std::min(std::max(x, double{alpha}), double{beta});
  return find_unary(op)->real(x, alpha, beta);
}

ActivationSpec activation_of(const NodeView& node) {
  return {node.attr_text("activation", ""), node.attr_float("activation_alpha", 0.0F),
          node.attr_float("activation_beta", 0.0F)};
}

ActivationSpec activation_from(const NodeView& node) {
  if (node.op() == "Clip") {
    ActivationSpec clip{"Clip", std::numeric_limits<float>::lowest(),
                        std::numeric_limits<float>::max()};
    for (size_t i = 1; i < 3; ++i) {
      if (!node.has_input(i)) continue;
      const Tensor* bound = node.input_constant(i);
      if (bound == nullptr || bound->num_elements() != 1) return {};
      (i == 1 ? clip.alpha : clip.beta) = static_cast<float>(element_as_double(*bound, 0));
    }
    return clip;
  }
  if (find_op(node.op()) == nullptr || op_of(node).kind != OpKind::kActivation ||
      find_unary(node.op()) == nullptr) {
    return {};
  }
  return {node.op(), static_cast<float>(unary_alpha(node)), static_cast<float>(unary_beta(node))};
}

void check_activation(const NodeView& node) {
  const std::string op = node.attr_text("activation", "");
  TY_REQUIRE(op.empty() || op == "Clip" || find_unary(op) != nullptr, "'{}' is not an activation",
             op);
}

int64_t activation_flops(const NodeView& node) {
  const std::string op = node.attr_text("activation", "");
  if (op.empty()) return 0;
  return op == "Clip" ? 2 : find_unary(op)->flops;
}

}  // namespace trainyard::ops
