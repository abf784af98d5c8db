#include "ops/autodiff/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"

namespace trainyard::autodiff {
namespace {

// Copies of some forward nodes that run again in the backward pass, so that their results need not
// be kept in between.
class Block {
 public:
  Block(Graph& graph, std::vector<NodeId> nodes, const std::set<NodeId>& backward)
      : graph_(graph),
        nodes_(std::move(nodes)),
        inside_(nodes_.begin(), nodes_.end()),
        backward_(backward) {}

  void run() {
    std::vector<ValueId> wanted;
    for (const NodeId id : nodes_) {
      for (const ValueId value : graph_.node(id).outputs) {
        if (value.valid() && !leaves(value) && feeds_backward(value)) wanted.push_back(value);
      }
    }
    for (const ValueId value : wanted) need(graph_.value(value).producer);
    for (const NodeId id : nodes_) {
      if (needed_.contains(id)) copy(id);
    }
    for (const ValueId value : wanted) redirect(value);
  }

 private:
  bool is_inside(ValueId value) const {
    return value.valid() && inside_.contains(graph_.value(value).producer);
  }

  // Somebody after the block reads it, so it is kept anyway.
  bool leaves(ValueId value) const {
    const std::vector<NodeId>& users = graph_.value(value).consumers;
    return graph_.is_output(value) || std::any_of(users.begin(), users.end(), [&](NodeId user) {
             return !inside_.contains(user) && !backward_.contains(user);
           });
  }

  bool feeds_backward(ValueId value) const {
    const std::vector<NodeId>& users = graph_.value(value).consumers;
    return std::any_of(users.begin(), users.end(),
                       [&](NodeId user) { return backward_.contains(user); });
  }

  // Values that are kept anyway end the chain.
  void need(NodeId id) {
    if (!needed_.insert(id).second) return;
    for (const ValueId input : graph_.node(id).inputs) {
      if (is_inside(input) && !leaves(input)) need(graph_.value(input).producer);
    }
  }

  void copy(NodeId id) {
    // A copy, as adding a node may move the others.
    const Node original = graph_.node(id);
    std::vector<ValueId> inputs = original.inputs;
    for (ValueId& input : inputs) {
      if (const auto again = copies_.find(input); again != copies_.end()) input = again->second;
    }
    std::vector<std::string> names;
    std::vector<TensorType> types;
    for (const ValueId output : original.outputs) {
      const bool there = output.valid();
      names.push_back(there ? graph_.unique_name("grad.again." + graph_.value(output).name) : "");
      types.push_back(there ? graph_.value(output).type : TensorType{});
    }
    const NodeId made =
        graph_.add_node(graph_.unique_name("grad.again." + original.name), original.op,
                        std::move(inputs), original.attributes, names, types);
    for (size_t i = 0; i < original.outputs.size(); ++i) {
      const ValueId output = original.outputs[i];
      if (output.valid() && !leaves(output)) copies_[output] = graph_.node(made).outputs[i];
    }
  }

  void redirect(ValueId value) {
    const std::vector<NodeId> users = graph_.value(value).consumers;
    for (const NodeId user : users) {
      if (!backward_.contains(user)) continue;
      for (size_t i = 0; i < graph_.node(user).inputs.size(); ++i) {
        if (graph_.node(user).inputs[i] == value) {
          graph_.set_node_input(user, i, copies_.at(value));
        }
      }
    }
  }

  Graph& graph_;
  std::vector<NodeId> nodes_;
  std::set<NodeId> inside_;
  const std::set<NodeId>& backward_;
  std::set<NodeId> needed_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

void recompute_blocks(Graph& graph, size_t forward_nodes, std::span<const std::string> prefixes) {
  const std::vector<NodeId> all = graph.node_ids();
  // The order of the list is forward, then backward: see TrainingGraph.
  const auto split = all.begin() + static_cast<ptrdiff_t>(forward_nodes);
  const std::set<NodeId> backward(split, all.end());
  std::vector<std::vector<NodeId>> blocks;
  for (const std::string& prefix : prefixes) {
    std::vector<NodeId> nodes;
    std::copy_if(all.begin(), split, std::back_inserter(nodes),
                 [&](NodeId id) { return graph.node(id).name.starts_with(prefix); });
    TY_REQUIRE(!nodes.empty(), "no node of the network has a name that begins with '{}'", prefix);
    blocks.push_back(std::move(nodes));
  }
  // Sorting runs what is listed first as early as it can; the backward pass comes to the last block
  // first.
  const auto place = [&](const std::vector<NodeId>& nodes) {
    return std::find(all.begin(), split, nodes.back()) - all.begin();
  };
  std::sort(blocks.begin(), blocks.end(),
            [&](const auto& a, const auto& b) { return place(a) > place(b); });
  for (std::vector<NodeId>& nodes : blocks) Block(graph, std::move(nodes), backward).run();
  graph.sort();
}

}  // namespace trainyard::autodiff
