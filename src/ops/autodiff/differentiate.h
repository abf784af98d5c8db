// Gradients, graph to graph: the nodes that compute them are added to the graph they differentiate.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace trainyard::autodiff {

// d(loss)/d(value) for each of `values`, as values of the graph; kNoValue where the loss does not
// depend on it. The loss has one element. Only what lies between `values` and the loss gets
// gradient nodes, so a frozen parameter costs nothing. Nodes are named grad.<node>.<op>. Throws
// Error naming a node that has no gradient.
std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> values);

}  // namespace trainyard::autodiff
