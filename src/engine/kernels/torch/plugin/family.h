// What a file of operators offers: for each operator a row of its table.
#pragma once

#include <ATen/ATen.h>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/torch_interface.h"

namespace trainyard::torch_plugin {

using Ints = std::vector<int64_t>;

class Node {
 public:
  explicit Node(const TorchNode& node) : node_(&node) {}

  std::string_view op() const { return node_->op; }
  size_t num_inputs() const { return static_cast<size_t>(node_->num_inputs); }
  size_t num_outputs() const { return static_cast<size_t>(node_->num_outputs); }
  bool has_input(size_t i) const {
    return i < num_inputs() && node_->inputs[i].type != kTorchAbsent;
  }
  bool has_output(size_t i) const {
    return i < num_outputs() && node_->outputs[i].type != kTorchAbsent;
  }
  const TorchOperand& input(size_t i) const { return node_->inputs[i]; }
  const TorchOperand& output(size_t i) const { return node_->outputs[i]; }
  Ints input_dims(size_t i) const { return dims_of(node_->inputs[i]); }
  Ints output_dims(size_t i) const { return dims_of(node_->outputs[i]); }
  int64_t input_rank(size_t i) const { return node_->inputs[i].rank; }
  int64_t output_rank(size_t i) const { return node_->outputs[i].rank; }
  bool is_known(size_t i) const { return has_input(i) && node_->inputs[i].known != nullptr; }
  // Of a known input; empty if it is not known or no integers.
  Ints known_ints(size_t i) const;
  // The first number of a known input; `fallback` if it is absent.
  double known_number(size_t i, double fallback) const;

  bool has_attr(std::string_view name) const { return find(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t fallback) const;
  double attr_float(std::string_view name, double fallback) const;
  std::string_view attr_text(std::string_view name, std::string_view fallback) const;
  Ints attr_ints(std::string_view name, const Ints& fallback) const;
  // The attribute as an axis of a tensor of `rank` dimensions, 0 or more.
  int64_t attr_axis(int64_t fallback, int64_t rank) const;

 private:
  static Ints dims_of(const TorchOperand& operand) {
    return {operand.dims, operand.dims + operand.rank};
  }
  const TorchAttribute* find(std::string_view name) const;

  const TorchNode* node_;
};

c10::ScalarType scalar_type(int32_t type);

// "" if every operand that is there is a float32; known inputs do not count.
const char* refuses_unless_f32(const Node& node);

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
std::span<const Operator> detection_operators();
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
