// Memory for time: what a block of the network computes is not kept for the backward pass but
// computed again.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"

namespace trainyard::autodiff {

// For a graph that differentiate() has extended by the nodes behind the first `forward_nodes` of
// its list. A block is all forward nodes whose names begin with one of `prefixes`. Gradient nodes
// that read a value from inside a block read a second computation of it instead, which starts from
// the values that enter the block and runs when the backward pass comes to it; values that leave a
// block are kept. Throws Error for a prefix that no node has. Results stay the same bit by bit.
void recompute_blocks(Graph& graph, size_t forward_nodes, std::span<const std::string> prefixes);

}  // namespace trainyard::autodiff
