// The scalar formulas of the element-wise families. Shape arithmetic, the reference kernels and
// the fast ones share them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

// Wide enough for every integer dtype, and for sums and products of two of them; results are
// wrapped into the dtype.
__extension__ using Whole = __int128;

template <typename A>
bool is_nan(A x) {
  if constexpr (std::is_floating_point_v<A>) return std::isnan(x);
  return false;
}

// y = f(x; alpha, beta), where alpha and beta are the operator's attributes, if it has any.
struct UnaryFunction {
  std::string_view op;
  double (*real)(double x, double alpha, double beta);  // null: not defined for floats
  Whole (*whole)(Whole x) = nullptr;                    // null: not defined for integers and bool
  double alpha = 0.0;                                   // defaults of the attributes
  double beta = 0.0;
  std::string_view alpha_name = "alpha";
  std::string_view beta_name = "beta";
  int64_t flops = 1;
  bool gives_bool = false;
};

// Null if `op` is not in the family.
const UnaryFunction* find_unary(std::string_view op);

// The attributes' values for a node of the family.
double unary_alpha(const NodeView& node);
double unary_beta(const NodeView& node);

class GradContext;
std::vector<ValueId> unary_gradient(GradContext& grad);

struct BinaryFunction {
  std::string_view op;
  double (*real)(double a, double b);          // null: not defined for floats
  Whole (*whole)(Whole a, Whole b) = nullptr;  // null: not defined for integers and bool
  bool gives_bool = false;
};

// Null if `op` is not in the family, or if its formula depends on attributes.
const BinaryFunction* find_binary(std::string_view op);
// The formula of a node of the family.
const BinaryFunction& binary_function(const NodeView& node);

}  // namespace trainyard::ops
