// One node of a file on its way into the graph, and the place it goes to.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace trainyard::onnx_io {

struct ImportNode {
  std::string name;
  std::string op;      // empty after an adapter that made all of it
  std::string domain;  // empty: ONNX's own
  int64_t opset = 0;
  std::vector<ValueId> inputs;
  std::vector<std::string> outputs;  // empty: absent
  Attributes attributes;
};

// Adds nodes and constants under names that no part of the file uses.
class Emitter {
 public:
  explicit Emitter(Graph& graph) : graph_(graph) {}
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  Graph& graph() { return graph_; }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Shape& shape(ValueId id) const { return type(id).shape; }

  // A name of a value or node of the file, which fresh_name() will not give away. False if it was
  // reserved before.
  bool reserve(const std::string& name) { return taken_.insert(name).second; }
  // `base`, or base_1, base_2, …; reserved from now on.
  std::string fresh_name(const std::string& base);

  // Adds the node and infers its outputs.
  NodeId add(ImportNode node);
  // A helper node with one output, named after `name`.
  ValueId add_helper(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                     const std::string& name);
  // The same for an output of the file's node, under its own name.
  void add_output(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                  const std::string& output);
  ValueId add_constant(const std::string& name, Tensor data);
  ValueId add_ints(const std::string& name, const std::vector<int64_t>& values);

 private:
  Graph& graph_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int64_t> next_;
};

}  // namespace trainyard::onnx_io
