// What a file of operators offers: for each operator a row of its table.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/kernels/torch/plugin/node.h"

namespace trainyard::torch_plugin {

using at::Tensor;
using Tensors = std::vector<Tensor>;

// Computes a node. Inputs and outputs are tensors on the device, in the positions of the node; an
// absent one is undefined. Outputs are dense row-major and filled in place: they are the program's
// memory. One of an optimizer or a normalization may be the memory of the input that it replaces.
using Run = std::function<void(const Tensors& in, const Tensors& out)>;

struct Operator {
  const char* op;
  // Why it does not take the node; empty: it does. The words live forever.
  const char* (*refuses)(const Node&);
  // Keeps of the node what it needs.
  Run (*make)(const Node&);
};

// The files of this folder, in no order that matters.
std::span<const Operator> attention_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> dropout_operators();
std::span<const Operator> elementwise_operators();
std::span<const Operator> layout_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> matmul_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> optimizer_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> reduction_operators();

// Null if no family has it.
const Operator* find_operator(std::string_view op);

}  // namespace trainyard::torch_plugin
