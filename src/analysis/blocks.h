// The parts of a network as people see them: blocks between the points that all data passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace trainyard::analysis {

// A node, or several that follow one another.
struct Block {
  NodeId node = {};                // of a single node; not valid otherwise
  std::vector<Block> inside = {};  // of several
  int64_t num_nodes = 1;
};

// Found by structure alone: a block begins where one value carries all that comes after it. Single
// nodes in a row whose outputs have one shape are a block, and so are blocks in a row: ResNet-50
// becomes a stem, four stages of blocks, and a head. The graph is sorted.
std::vector<Block> find_blocks(const Graph& graph);

}  // namespace trainyard::analysis
