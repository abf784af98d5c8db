// A node together with its graph: what operators, kernels and analyses look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace trainyard {

// Attribute and input accessors throw Error naming the node when a file brought the wrong kind.
class NodeView {
 public:
  NodeView(const Graph& graph, NodeId id) : graph_(&graph), id_(id) {}

  const Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }
  const Node& node() const { return graph_->node(id_); }
  const std::string& op() const { return node().op; }
  const std::string& name() const { return node().name; }

  size_t num_inputs() const { return node().inputs.size(); }
  size_t num_outputs() const { return node().outputs.size(); }
  bool has_input(size_t i) const { return i < num_inputs() && node().inputs[i].valid(); }
  bool has_output(size_t i) const { return i < num_outputs() && node().outputs[i].valid(); }
  ValueId input(size_t i) const { return node().inputs[i]; }
  ValueId output(size_t i) const { return node().outputs[i]; }
  const Value& input_value(size_t i) const;
  const TensorType& input_type(size_t i) const { return input_value(i).type; }
  const Shape& input_shape(size_t i) const { return input_type(i).shape; }
  const TensorType& output_type(size_t i) const { return graph_->value(output(i)).type; }
  const Shape& output_shape(size_t i) const { return output_type(i).shape; }

  // The input's values if they are known without running the graph.
  const Tensor* input_constant(size_t i) const;
  // The same as integers; no value if the input is absent or not known.
  std::optional<std::vector<int64_t>> input_ints(size_t i) const;

  bool has_attr(std::string_view name) const;
  int64_t attr_int(std::string_view name, int64_t fallback) const;
  float attr_float(std::string_view name, float fallback) const;
  std::string attr_text(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> attr_ints(std::string_view name, const std::vector<int64_t>& fallback) const;
  std::vector<float> attr_floats(std::string_view name, const std::vector<float>& fallback) const;
  std::vector<std::string> attr_texts(std::string_view name) const;  // empty if absent
  const Tensor* attr_tensor(std::string_view name) const;            // null if absent
  const Graph* attr_graph(std::string_view name) const;              // null if absent

 private:
  template <typename T>
  const T* attr(std::string_view name, AttrKind kind) const;

  const Graph* graph_;
  NodeId id_;
};

}  // namespace trainyard
