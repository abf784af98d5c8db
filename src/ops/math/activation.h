// The activation that internal operators apply to their result: attributes `activation` (an ONNX
// operator's name; none if absent), `activation_alpha` and `activation_beta` (its attributes; for
// Clip the bounds).
#pragma once

#include <string>

#include "ir/node_view.h"

namespace trainyard::ops {

struct ActivationSpec {
  std::string op;  // empty: none
  float alpha = 0.0F;
  float beta = 0.0F;

  double operator()(double x) const;
};

ActivationSpec activation_of(const NodeView& node);

// The node itself as an activation, if it is one of a single input with known parameters; an empty
// `op` otherwise.
ActivationSpec activation_from(const NodeView& node);

// Throws Error if the activation is not one.
void check_activation(const NodeView& node);
// Per element.
int64_t activation_flops(const NodeView& node);

}  // namespace trainyard::ops
