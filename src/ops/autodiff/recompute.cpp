#include "ops/autodiff/recompute.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/node_view.h"
#include "ops/op_def.h"

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

  // What is saved, and what that costs.
  Recomputed plan() {
    Recomputed planned{.possible = 1};
    find_needed();
    for (const ValueId value : wanted_) planned.bytes += graph_.value(value).type.num_bytes();
    for (const NodeId id : needed_) planned.flops += ops::node_cost(NodeView(graph_, id)).flops;
    return planned;
  }

  void run() {
    find_needed();
    for (const NodeId id : nodes_) {
      if (needed_.contains(id)) copy(id);
    }
    for (const ValueId value : wanted_) redirect(value);
  }

 private:
  void find_needed() {
    for (const NodeId id : nodes_) {
      for (const ValueId value : graph_.node(id).outputs) {
        if (value.valid() && !leaves(value) && feeds_backward(value)) wanted_.push_back(value);
      }
    }
    for (const ValueId value : wanted_) need(graph_.value(value).producer);
  }

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
  std::vector<ValueId> wanted_;  // what the backward pass reads
  std::set<NodeId> needed_;
  std::map<ValueId, ValueId> copies_;
};

// The order of the list is forward, then backward: see TrainingGraph.
struct Halves {
  Halves(const Graph& graph, size_t forward_nodes) : forward(graph.node_ids()) {
    const auto split = forward.begin() + static_cast<ptrdiff_t>(forward_nodes);
    backward.insert(split, forward.end());
    forward.erase(split, forward.end());
  }
  std::vector<NodeId> forward;
  std::set<NodeId> backward;
};

// Bytes of computed values that are handed on to later forward nodes, behind each forward node.
std::vector<int64_t> bytes_handed_on(const Graph& graph, const Halves& halves) {
  std::map<NodeId, size_t> places;
  for (size_t i = 0; i < halves.forward.size(); ++i) places[halves.forward[i]] = i;
  std::vector<int64_t> steps(halves.forward.size() + 1, 0);
  for (size_t i = 0; i < halves.forward.size(); ++i) {
    for (const ValueId id : graph.node(halves.forward[i]).outputs) {
      if (!id.valid()) continue;
      size_t last = i;
      for (const NodeId user : graph.value(id).consumers) {
        if (const auto place = places.find(user); place != places.end()) {
          last = std::max(last, place->second);
        }
      }
      const int64_t bytes = graph.value(id).type.num_bytes();
      steps[i] += bytes;
      steps[last] -= bytes;
    }
  }
  steps.pop_back();
  std::partial_sum(steps.begin(), steps.end(), steps.begin());
  return steps;
}

// Behind which forward nodes a block may end: where no less is handed on just before or after.
std::vector<bool> find_cuts(const Graph& graph, const Halves& halves) {
  const std::vector<int64_t> bytes = bytes_handed_on(graph, halves);
  std::vector<bool> cuts(bytes.size(), false);
  for (size_t i = 1; i + 1 < bytes.size(); ++i) {
    cuts[i] = bytes[i] <= bytes[i - 1] && bytes[i] <= bytes[i + 1];
  }
  return cuts;
}

struct Candidate {
  std::vector<NodeId> nodes;
  Recomputed planned;
  size_t end;  // behind its last node
  double value() const {
    return static_cast<double>(planned.bytes) / static_cast<double>(planned.flops + 1);
  }
};

std::vector<Candidate> find_candidates(Graph& graph, const Halves& halves, int64_t least_bytes) {
  const std::vector<bool> cuts = find_cuts(graph, halves);
  std::vector<Candidate> found;
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < halves.forward.size(); ++i) {
    nodes.push_back(halves.forward[i]);
    if (!cuts[i]) continue;
    const Recomputed planned = Block(graph, nodes, halves.backward).plan();
    if (planned.bytes < std::max<int64_t>(least_bytes, 1)) continue;
    found.push_back({std::exchange(nodes, {}), planned, i});
  }
  return found;
}

}  // namespace

void recompute_blocks(Graph& graph, size_t forward_nodes, std::span<const std::string> prefixes) {
  const Halves halves(graph, forward_nodes);
  const std::vector<NodeId>& all = halves.forward;
  std::vector<std::vector<NodeId>> blocks;
  for (const std::string& prefix : prefixes) {
    std::vector<NodeId> nodes;
    std::copy_if(all.begin(), all.end(), std::back_inserter(nodes),
                 [&](NodeId id) { return graph.node(id).name.starts_with(prefix); });
    TY_REQUIRE(!nodes.empty(), "no node of the network has a name that begins with '{}'", prefix);
    blocks.push_back(std::move(nodes));
  }
  // Sorting runs what is listed first as early as it can; the backward pass comes to the last block
  // first.
  const auto place = [&](const std::vector<NodeId>& nodes) {
    return std::find(all.begin(), all.end(), nodes.back()) - all.begin();
  };
  std::sort(blocks.begin(), blocks.end(),
            [&](const auto& a, const auto& b) { return place(a) > place(b); });
  for (std::vector<NodeId>& nodes : blocks) Block(graph, std::move(nodes), halves.backward).run();
  graph.sort();
}

Recomputed recompute_best(Graph& graph, size_t forward_nodes, int64_t least_bytes, size_t most) {
  const Halves halves(graph, forward_nodes);
  std::vector<Candidate> found = find_candidates(graph, halves, least_bytes);
  Recomputed done{.possible = found.size(), .blocks = std::min(most, found.size())};
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.value() > b.value(); });
  found.erase(found.begin() + static_cast<ptrdiff_t>(done.blocks), found.end());
  // As above: the last first.
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return a.end > b.end; });
  for (Candidate& candidate : found) {
    Block(graph, std::move(candidate.nodes), halves.backward).run();
    done.bytes += candidate.planned.bytes;
    done.flops += candidate.planned.flops;
  }
  graph.sort();
  return done;
}

}  // namespace trainyard::autodiff
