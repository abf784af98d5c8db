// The one description of a network: values and nodes with ONNX semantics (opset 17).
//
// A Graph keeps its own bookkeeping (producers, consumers, unique names) right under every edit;
// whether the nodes make sense is the verifier's business. Not thread-safe; const use from several
// threads is fine.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/attribute.h"
#include "ir/initializer.h"
#include "tensor/shape.h"

namespace trainyard {

template <typename Tag>
struct Id {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const Id&) const = default;
};
using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

// An optional input or output that is not there.
inline constexpr ValueId kNoValue{};

enum class ValueKind : uint8_t { kInput, kInitializer, kComputed };

struct Value {
  std::string name;
  TensorType type;
  ValueKind kind = ValueKind::kComputed;
  NodeId producer;                // kComputed only
  std::vector<NodeId> consumers;  // once per use, in no particular order
  // Values known without running the graph: an initializer's data, or what shape arithmetic gives.
  std::shared_ptr<const Tensor> constant;
  InitRule rule;  // where the numbers come from if an initializer has no `constant`
};

struct Node {
  std::string name;  // unique among nodes
  std::string op;    // ONNX spelling; ops/ knows what it means
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  bool erased = false;
};

class Graph {
 public:
  // Not inline, as every file that has a graph would compile them again.
  explicit Graph(std::string name = "graph");
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // --- building: names must be new (see unique_name); TY_CHECKed
  ValueId add_input(std::string name, TensorType type);
  ValueId add_initializer(std::string name, TensorType type, InitRule rule);
  ValueId add_initializer(std::string name, std::shared_ptr<const Tensor> data);
  // Outputs are fresh computed values of the given names and types; an empty name is an absent
  // output.
  NodeId add_node(std::string name, std::string op, std::vector<ValueId> inputs,
                  Attributes attributes, std::span<const std::string> output_names,
                  std::span<const TensorType> output_types);
  void set_outputs(std::vector<ValueId> outputs);

  // --- reading
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id.index)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  // Ids of the nodes that are still there, in the order of their list (topological after sort()).
  std::vector<NodeId> node_ids() const;
  std::vector<ValueId> initializers() const;
  int64_t num_nodes() const { return num_live_nodes_; }
  // Upper bounds of the index of ids, for arrays beside the graph.
  size_t value_limit() const { return values_.size(); }
  size_t node_limit() const { return nodes_.size(); }
  ValueId find_value(std::string_view name) const;  // kNoValue if there is none
  NodeId find_node(std::string_view name) const;
  bool is_output(ValueId id) const;

  // --- editing
  Value& mutable_value(ValueId id) { return values_[static_cast<size_t>(id.index)]; }
  Node& mutable_node(NodeId id) {
    return nodes_[static_cast<size_t>(id.index)];
  }  // not inputs/outputs
  void rename_value(ValueId id, std::string name);
  void set_node_input(NodeId id, size_t position, ValueId value);
  // Every use of `from`, graph outputs included, becomes a use of `to`.
  void replace_uses(ValueId from, ValueId to);
  // Removes a node; its outputs must have no uses left.
  void erase_node(NodeId id);
  // Drops an initializer or input without uses from the lists.
  void erase_value(ValueId id);
  // Orders nodes so that producers come first, otherwise keeping the order. Throws Error naming a
  // cycle.
  void sort();

  // `base` if no value or node has that name, otherwise base_1, base_2, …
  std::string unique_name(std::string_view base);

 private:
  ValueId add_value(Value value);
  void claim_node_name(const std::string& name, NodeId id);

  std::string name_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<ValueId> initializers_;
  std::unordered_map<std::string, ValueId> value_by_name_;
  std::unordered_map<std::string, NodeId> node_by_name_;
  std::unordered_map<std::string, int> next_suffix_;  // where unique_name goes on counting
  int64_t num_live_nodes_ = 0;
};

// The first dimension of the first input; 1 if there is none.
int64_t batch_of(const Graph& graph);

}  // namespace trainyard
