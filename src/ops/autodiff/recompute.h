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

struct Recomputed {
  size_t possible = 0;  // blocks that could be
  size_t blocks = 0;    // that are
  int64_t bytes = 0;    // that they need not keep
  int64_t flops = 0;    // that are done again
};
// The same for blocks that are found in the graph: forward nodes in a row, cut where little is
// handed on, each the shortest whose computing again saves `least_bytes` (and something). Taken are
// the `most` of them that save most bytes for each operation done again. The last nodes, behind
// which the backward pass begins, are no block.
Recomputed recompute_best(Graph& graph, size_t forward_nodes, int64_t least_bytes, size_t most);

}  // namespace trainyard::autodiff
