// Functions of one number, alone or applied by other kernels to their results.
#pragma once

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {

// Writes f(x) to `out`, which may be x.
using Activation = std::function<void(Tensor& out, const Tensor& x)>;

// Of the operator's name, with its two numbers (for Clip the bounds); empty if it is none.
Activation activation_named(std::string_view op, double alpha, double beta);
// What a node applies to its result: a copy, if nothing. See ops/math/activation.h.
Activation activation_of(const Node& node);
// "" if activation_of() knows it.
const char* refuses_activation(const Node& node);

}  // namespace trainyard::torch_plugin
