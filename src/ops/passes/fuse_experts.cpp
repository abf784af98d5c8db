// fuse_experts: gated feed-forward parts that are computed for every row and then weighted, most of
// them by 0, become GatedExperts, which computes those that count.
//
// The pattern is that of the zoo's mixtures: Gemm(Reshape(Mul(Reshape(h), Reshape(weight))), down)
// with h = Mul(Swish(Gemm(x, gate)), Gemm(x, up)), and weight = Div(Mul(share, Cast(chosen)), sum).
// There the gradient of a weight of 0 reaches nothing, as it is multiplied by `chosen`.
#include <optional>

#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

// x W^T without a bias.
bool is_plain_product(const Graph& graph, NodeId id) {
  if (!id.valid()) return false;
  const NodeView node(graph, id);
  return node.op() == "Gemm" && !node.has_input(2) && node.attr_int("transA", 0) == 0 &&
         node.attr_int("transB", 0) == 1 && node.attr_float("alpha", 1.0F) == 1.0F;
}

// What a Reshape reshapes.
ValueId unshaped(const Graph& graph, ValueId id) {
  const NodeId node = made_by(graph, id, "Reshape");
  return node.valid() ? graph.node(node).inputs[0] : kNoValue;
}

bool is_choice(const Graph& graph, ValueId id) {
  const NodeId cast = made_by(graph, id, "Cast");
  return cast.valid() && NodeView(graph, cast).input_type(0).dtype == DType::kBool;
}

bool zeros_stay(const Graph& graph, ValueId weight) {
  const NodeId quotient = made_by(graph, weight, "Div");
  if (!quotient.valid()) return false;
  const ValueId kept = graph.node(quotient).inputs[0];
  const NodeId sum = made_by(graph, graph.node(quotient).inputs[1], "ReduceSum");
  const NodeId product = made_by(graph, kept, "Mul");
  if (!sum.valid() || graph.node(sum).inputs[0] != kept || !product.valid()) return false;
  return is_choice(graph, graph.node(product).inputs[0]) ||
         is_choice(graph, graph.node(product).inputs[1]);
}

// How many experts a row counts: what `kept` was chosen by is not looked for, as this is for
// estimates alone.
std::optional<int64_t> active_of(const Graph& graph, ValueId weight) {
  const NodeId kept = made_by(graph, graph.node(graph.value(weight).producer).inputs[0], "Mul");
  for (const ValueId share : graph.node(kept).inputs) {
    for (const NodeId user : graph.value(share).consumers) {
      if (graph.node(user).op == "TopK")
        return graph.value(graph.node(user).outputs[0]).type.shape[1];
    }
  }
  return std::nullopt;
}

struct Mixture {
  ValueId x, gate, up, weight;
};

// Of the hidden numbers h = Mul(Swish(Gemm(x, gate)), Gemm(x, up)).
std::optional<Mixture> match_hidden(const Graph& graph, ValueId hidden) {
  const NodeId product = made_by(graph, hidden, "Mul");
  if (!product.valid()) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const NodeId swish = made_by(graph, graph.node(product).inputs[i], "Swish");
    if (!swish.valid() || NodeView(graph, swish).attr_float("alpha", 1.0F) != 1.0F) continue;
    const NodeId gate = made_by(graph, graph.node(swish).inputs[0], "Gemm");
    const NodeId up = made_by(graph, graph.node(product).inputs[1 - i], "Gemm");
    if (!is_plain_product(graph, gate) || !is_plain_product(graph, up)) continue;
    const std::vector<ValueId>& a = graph.node(gate).inputs;
    const std::vector<ValueId>& b = graph.node(up).inputs;
    if (a[0] == b[0]) return Mixture{.x = a[0], .gate = a[1], .up = b[1], .weight = kNoValue};
  }
  return std::nullopt;
}

// Of what `down` reads: the hidden numbers, weighted.
std::optional<Mixture> match_weighted(const Graph& graph, ValueId side_by_side) {
  const NodeId weighted = made_by(graph, unshaped(graph, side_by_side), "Mul");
  if (!weighted.valid()) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId by_expert = graph.node(weighted).inputs[i];
    const ValueId hidden = unshaped(graph, by_expert);
    const ValueId weight = unshaped(graph, graph.node(weighted).inputs[1 - i]);
    if (!hidden.valid() || !weight.valid()) continue;
    auto found = match_hidden(graph, hidden);
    if (!found || !zeros_stay(graph, weight)) continue;
    const Shape& w = graph.value(weight).type.shape;
    const Shape& parts = graph.value(by_expert).type.shape;
    if (w.rank() != 2 || parts.rank() != 3 || parts[1] != w[1]) continue;
    found->weight = weight;
    return found;
  }
  return std::nullopt;
}

bool fuse_mixture(Graph& graph, NodeId id) {
  if (!is_plain_product(graph, id)) return false;
  const ValueId down = graph.node(id).inputs[1];
  const auto found = match_weighted(graph, graph.node(id).inputs[0]);
  if (!found) return false;
  Attributes attributes;
  if (const auto active = active_of(graph, found->weight)) attributes["active"] = *active;
  replace_by(graph, id, "GatedExperts", {found->x, found->gate, found->up, down, found->weight},
             std::move(attributes));
  return true;
}

}  // namespace

bool fuse_experts(Graph& graph, const PassContext& context) {
  // No device has a kernel for it.
  if (!context.on_host) return false;
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (fuse_mixture(graph, id)) changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
