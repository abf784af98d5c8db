#include "ir/graph.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard {

Graph::Graph(std::string name) : name_(std::move(name)) {}
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

void Graph::set_outputs(std::vector<ValueId> outputs) {
  outputs_ = std::move(outputs);
}

// Ids are never reused: a value stays in `values_` when it is erased, so that arrays beside the
// graph keep their meaning.
ValueId Graph::add_value(Value value) {
  const ValueId id{static_cast<int32_t>(values_.size())};
  const bool fresh = value_by_name_.emplace(value.name, id).second;
  TY_CHECK(fresh, "value '{}' is there already", value.name);
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.kind = ValueKind::kInput;
  return inputs_.emplace_back(add_value(std::move(value)));
}

ValueId Graph::add_initializer(std::string name, TensorType type, InitRule rule) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.kind = ValueKind::kInitializer;
  value.rule = rule;
  return initializers_.emplace_back(add_value(std::move(value)));
}

ValueId Graph::add_initializer(std::string name, std::shared_ptr<const Tensor> data) {
  const ValueId id = add_initializer(std::move(name), data->type(), InitRule{});
  mutable_value(id).constant = std::move(data);
  return id;
}

void Graph::claim_node_name(const std::string& name, NodeId id) {
  const bool fresh = node_by_name_.emplace(name, id).second;
  TY_CHECK(fresh, "node '{}' is there already", name);
}

NodeId Graph::add_node(std::string name, std::string op, std::vector<ValueId> inputs,
                       Attributes attributes, std::span<const std::string> output_names,
                       std::span<const TensorType> output_types) {
  TY_CHECK(output_names.size() == output_types.size(), "node {}: {} names for {} outputs", name,
           output_names.size(), output_types.size());
  const NodeId id{static_cast<int32_t>(nodes_.size())};
  claim_node_name(name, id);
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) {
      node.outputs.push_back(kNoValue);
      continue;
    }
    Value value;
    value.name = output_names[i];
    value.type = output_types[i];
    value.producer = id;
    node.outputs.push_back(add_value(std::move(value)));
  }
  for (const ValueId input : node.inputs) {
    if (input.valid()) mutable_value(input).consumers.push_back(id);
  }
  nodes_.push_back(std::move(node));
  order_.push_back(id);
  ++num_live_nodes_;
  return id;
}

// An erased node keeps its place in the list until sort() drops it.
std::vector<NodeId> Graph::node_ids() const {
  std::vector<NodeId> ids;
  ids.reserve(order_.size());
  for (const NodeId id : order_) {
    if (!node(id).erased) ids.push_back(id);
  }
  return ids;
}

// By value, so that initializers may be added and erased while a caller goes through them.
std::vector<ValueId> Graph::initializers() const {
  return initializers_;
}

ValueId Graph::find_value(std::string_view name) const {
  const auto found = value_by_name_.find(std::string(name));
  return found == value_by_name_.end() ? kNoValue : found->second;
}

NodeId Graph::find_node(std::string_view name) const {
  const auto found = node_by_name_.find(std::string(name));
  return found == node_by_name_.end() ? NodeId{} : found->second;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}

// The new name is claimed before the old one is given up, so that a name in use changes nothing.
void Graph::rename_value(ValueId id, std::string name) {
  if (value(id).name == name) return;
  const bool fresh = value_by_name_.emplace(name, id).second;
  TY_CHECK(fresh, "value '{}' is there already", name);
  value_by_name_.erase(value(id).name);
  mutable_value(id).name = std::move(name);
}

void Graph::set_node_input(NodeId id, size_t position, ValueId to) {
  ValueId& slot = mutable_node(id).inputs[position];
  if (slot.valid()) {
    // `id` stands once per use, so exactly one entry goes.
    auto& consumers = mutable_value(slot).consumers;
    consumers.erase(std::find(consumers.begin(), consumers.end(), id));
  }
  slot = to;
  if (to.valid()) mutable_value(to).consumers.push_back(id);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  // A copy, since set_node_input edits the list; a node that uses the value twice is met twice, the
  // second time with nothing left to do.
  const std::vector<NodeId> consumers = value(from).consumers;
  for (const NodeId id : consumers) {
    for (size_t i = 0; i < node(id).inputs.size(); ++i) {
      if (node(id).inputs[i] == from) set_node_input(id, i, to);
    }
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::erase_node(NodeId id) {
  Node& gone = mutable_node(id);
  for (const ValueId output : gone.outputs) {
    if (!output.valid()) continue;
    TY_CHECK(value(output).consumers.empty() && !is_output(output), "{} of {} is still used",
             value(output).name, gone.name);
    value_by_name_.erase(value(output).name);
  }
  for (size_t i = 0; i < gone.inputs.size(); ++i) set_node_input(id, i, kNoValue);
  node_by_name_.erase(gone.name);
  gone.erased = true;
  --num_live_nodes_;
}

// The id stays valid but can no longer be found by its name.
void Graph::erase_value(ValueId id) {
  TY_CHECK(value(id).consumers.empty() && !is_output(id), "{} is still used", value(id).name);
  std::erase(inputs_, id);
  std::erase(initializers_, id);
  value_by_name_.erase(value(id).name);
}

void Graph::sort() {
  // Kahn's algorithm over positions in the present order, smallest first, so that a sorted list
  // stays put.
  std::vector<NodeId> ids = node_ids();
  std::vector<int32_t> missing(nodes_.size(), 0);
  std::vector<size_t> position(nodes_.size(), 0);
  for (size_t i = 0; i < ids.size(); ++i) position[static_cast<size_t>(ids[i].index)] = i;
  std::vector<size_t> ready;
  const auto later = std::greater<size_t>();
  for (const NodeId id : ids) {
    int32_t& count = missing[static_cast<size_t>(id.index)];
    for (const ValueId input : node(id).inputs) {
      if (input.valid() && value(input).producer.valid()) ++count;
    }
    if (count == 0) ready.push_back(position[static_cast<size_t>(id.index)]);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  std::vector<NodeId> sorted;
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const NodeId id = ids[ready.back()];
    ready.pop_back();
    sorted.push_back(id);
    for (const ValueId output : node(id).outputs) {
      if (!output.valid()) continue;
      for (const NodeId consumer : value(output).consumers) {
        if (--missing[static_cast<size_t>(consumer.index)] > 0) continue;
        ready.push_back(position[static_cast<size_t>(consumer.index)]);
        std::push_heap(ready.begin(), ready.end(), later);
      }
    }
  }
  // Nodes on a cycle, and those behind one, never become ready.
  if (sorted.size() < ids.size()) {
    const auto stuck = std::find_if(ids.begin(), ids.end(), [&](NodeId id) {
      return missing[static_cast<size_t>(id.index)] > 0;
    });
    throw_error("graph {}: node '{}' ({}) depends on its own output", name_, node(*stuck).name,
                node(*stuck).op);
  }
  order_ = std::move(sorted);
}

// Unique among values and nodes at once, so that one name serves for a node and its output.
std::string Graph::unique_name(std::string_view base) {
  std::string name(base);
  if (!value_by_name_.contains(name) && !node_by_name_.contains(name)) return name;
  // Counted on from the last one, so that a thousand nodes of the same base take no quadratic time.
  int& suffix = next_suffix_[name];
  do {
    name = fmt::format("{}_{}", base, ++suffix);
  } while (value_by_name_.contains(name) || node_by_name_.contains(name));
  return name;
}

int64_t batch_of(const Graph& graph) {
  if (graph.inputs().empty()) return 1;
  const Shape& shape = graph.value(graph.inputs()[0]).type.shape;
  return shape.rank() == 0 ? 1 : shape[0];
}

}  // namespace trainyard
