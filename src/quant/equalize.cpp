#include <algorithm>
#include <cmath>

#include "ops/passes/edit.h"
#include "quant/repair.h"

namespace trainyard::quant {
namespace {

constexpr int kRounds = 20;
constexpr double kEnough = 1.01;  // no channel moved by more in a round

struct Pair {
  NodeId first;
  NodeId second;
  NodeId clip;  // between them, if there is one
};

bool is_depthwise(const NodeView& conv) {
  return conv.attr_int("group", 1) > 1 && conv.input_constant(1)->shape()[1] == 1 &&
         conv.attr_int("group", 1) == conv.input_constant(1)->shape()[0];
}

// The only user of a value; invalid if there are others or it leaves the network.
NodeId sole_user(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.consumers.size() == 1 && !graph.is_output(id) ? value.consumers[0] : NodeId{};
}

// Nagel et al., 2019 (data-free quantization): a factor per channel may move between two
// convolutions if only a function with f(s x) = s f(x), such as ReLU, lies between.
std::vector<Pair> find_pairs(const Graph& graph, const Plan& plan) {
  std::vector<Pair> pairs;
  for (const NodeId id : plan.layers) {
    const NodeView first(graph, id);
    if (first.op() != "Conv") continue;
    NodeId next = sole_user(graph, first.output(0));
    if (!next.valid()) continue;
    NodeId clip;
    const ValueId result = rounded_result(graph, id);
    if (result != first.output(0)) {
      if (graph.node(next).op == "Clip") clip = next;
      next = sole_user(graph, result);
    }
    if (!next.valid()) continue;
    const NodeView second(graph, next);
    if (second.op() != "Conv" || !is_layer(second)) continue;
    // A general grouped convolution mixes channels in ways that each_of_input does not follow.
    if (second.attr_int("group", 1) != 1 && !is_depthwise(second)) continue;
    pairs.push_back({id, next, clip});
  }
  return pairs;
}

// Initializers may be shared by other nodes, which must keep theirs. `kept` owns the numbers that
// the graph sees as const.
Tensor& own_copy(Graph& graph, NodeId id, size_t position,
                 std::vector<std::shared_ptr<Tensor>>& kept) {
  const ValueId old = graph.node(id).inputs[position];
  kept.push_back(std::make_shared<Tensor>(graph.value(old).constant->clone()));
  const ValueId copy =
      graph.add_initializer(graph.unique_name(graph.value(old).name + ".equal"), kept.back());
  graph.set_node_input(id, position, copy);
  return *kept.back();
}

// Weights as [output][input][position].
struct Bank {
  std::span<float> values;
  int64_t outputs;
  int64_t inputs;
  int64_t inner;

  explicit Bank(Tensor& tensor)
      : values(tensor.values<float>()),
        outputs(tensor.shape()[0]),
        inputs(tensor.shape()[1]),
        inner(tensor.shape().num_elements(2, tensor.shape().rank())) {}

  template <typename Visit>
  void each_of_output(int64_t o, const Visit& visit) const {
    for (int64_t k = 0; k < inputs * inner; ++k) {
      visit(values[static_cast<size_t>(o * inputs * inner + k)]);
    }
  }
  // Of a depthwise bank: the channel itself.
  template <typename Visit>
  void each_of_input(int64_t i, bool depthwise, const Visit& visit) const {
    if (depthwise) return each_of_output(i, visit);
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t k = 0; k < inner; ++k) {
        visit(values[static_cast<size_t>((o * inputs + i) * inner + k)]);
      }
    }
  }
};

class Equalizer {
 public:
  explicit Equalizer(Prepared& prepared) : prepared_(prepared), graph_(prepared.graph) {}

  Equalized run() {
    const Plan plan = make_plan(graph_, {});
    const std::vector<Pair> pairs = find_pairs(graph_, plan);
    for (const Pair& pair : pairs) {
      for (const NodeId id : {pair.first, pair.second}) own_weights(id);
    }
    Equalized done{static_cast<int64_t>(pairs.size()), 0};
    // Pairs overlap, so one pass does not settle them.
    for (int round = 0; round < kRounds; ++round) {
      double largest = 1;
      for (const Pair& pair : pairs) largest = std::max(largest, balance(pair));
      if (largest < kEnough) break;
    }
    // Clip at 6 does not scale with its input, so it becomes ReLU; the caller is told how many did.
    for (const Pair& pair : pairs) {
      if (!pair.clip.valid()) continue;
      open(pair.clip);
      ++done.opened_clips;
    }
    passes::drop_unused_initializers(graph_);
    return done;
  }

 private:
  void own_weights(NodeId id) {
    if (weights_.contains(id)) return;
    weights_[id] = &own_copy(graph_, id, 1, kept_);
    if (NodeView(graph_, id).has_input(2)) biases_[id] = &own_copy(graph_, id, 2, kept_);
  }

  // Returns the largest factor by which a channel moved.
  double balance(const Pair& pair) {
    const Bank first(*weights_.at(pair.first));
    const Bank second(*weights_.at(pair.second));
    const bool depthwise = is_depthwise({graph_, pair.second});
    const auto stated =
        prepared_.normalized.find(graph_.value(graph_.node(pair.first).outputs[0]).name);
    double moved = 1;
    for (int64_t c = 0; c < first.outputs; ++c) {
      float before = 0;
      float after = 0;
      first.each_of_output(c, [&](float& w) { before = std::max(before, std::fabs(w)); });
      second.each_of_input(c, depthwise, [&](float& w) { after = std::max(after, std::fabs(w)); });
      // Ranges become equal at sqrt(r1 r2): s = sqrt(r2 / r1).
      const auto factor = std::sqrt(double{after} / double{before});
      // A channel of zeros on either side has nothing to balance.
      if (!std::isnormal(factor)) continue;
      const auto up = static_cast<float>(factor);
      first.each_of_output(c, [&](float& w) { w *= up; });
      second.each_of_input(c, depthwise, [&](float& w) { w /= up; });
      const auto at = static_cast<size_t>(c);
      if (biases_.contains(pair.first)) biases_.at(pair.first)->values<float>()[at] *= up;
      // What batch normalization says of this output scales with it.
      if (stated != prepared_.normalized.end()) {
        stated->second.mean[at] *= factor;
        stated->second.sigma[at] *= factor;
      }
      moved = std::max({moved, factor, 1 / factor});
    }
    return moved;
  }

  void open(NodeId clip) {
    for (size_t i = 1; i < graph_.node(clip).inputs.size(); ++i) {
      graph_.set_node_input(clip, i, kNoValue);
    }
    Node& node = graph_.mutable_node(clip);
    node.op = "Relu";
    node.inputs.resize(1);
    node.attributes.clear();
  }

  Prepared& prepared_;
  Graph& graph_;
  std::map<NodeId, Tensor*> weights_;
  std::map<NodeId, Tensor*> biases_;
  std::vector<std::shared_ptr<Tensor>> kept_;
};

}  // namespace

Equalized equalize(Prepared& prepared) {
  return Equalizer(prepared).run();
}

}  // namespace trainyard::quant
