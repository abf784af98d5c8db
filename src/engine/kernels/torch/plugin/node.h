// A node as the program describes it, with the questions that kernels have.
#pragma once

#include <ATen/ATen.h>
#include <cstdint>
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

}  // namespace trainyard::torch_plugin
