// The scalar formulas of the element-wise families. Shape arithmetic and the reference kernels
// share them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

// y = f(x; alpha, beta), where alpha and beta are the operator's attributes, if it has any.
struct UnaryFunction {
  std::string_view op;
  double (*apply)(double x, double alpha, double beta);
  double alpha = 0.0;  // defaults of the attributes
  double beta = 0.0;
  int64_t flops = 1;
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
  double (*real)(double a, double b);
  int64_t (*whole)(int64_t a, int64_t b);  // null: not defined for integers
};

const BinaryFunction* find_binary(std::string_view op);

}  // namespace trainyard::ops
