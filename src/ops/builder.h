// Builds graphs node by node, inferring types as it goes. Models, gradients and passes all use it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace trainyard::ops {

// Names: a node's first output carries the node's name, further ones get a suffix; without a name
// the node is called after its operator, and a number is added where that is taken. Same calls,
// same names.
class Builder {
 public:
  // The graph must outlive the builder.
  explicit Builder(Graph& graph) : graph_(graph) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() { return graph_; }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Shape& shape(ValueId id) const { return type(id).shape; }

  ValueId input(std::string_view name, TensorType type);
  // An initializer whose numbers come from a rule, or are given.
  ValueId parameter(std::string_view name, Shape shape, InitRule rule, DType dtype = DType::kF32);
  ValueId constant(std::string_view name, Tensor data);
  ValueId constant_ints(std::string_view name, std::span<const int64_t> values);
  ValueId constant_scalar(std::string_view name, float value);

  // Put before the names of nodes that are added without a name of their own.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  // A node with one output.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
              std::string_view name = "");
  // A node with several outputs.
  std::vector<ValueId> add_multi(std::string_view op, std::vector<ValueId> inputs,
                                 size_t num_outputs, Attributes attributes = {},
                                 std::string_view name = "");

 private:
  Graph& graph_;
  std::string prefix_;
};

}  // namespace trainyard::ops
