// Which values share memory and from when to when each piece of it is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/node_view.h"

namespace trainyard::analysis {

// Does it put images' channels behind each other? Its inputs can be computed where the output lies.
bool joins_channels(const NodeView& node);

struct Buffer {
  int64_t bytes = 0;
  // Positions in the order of nodes: made by node `born` (-1: a graph input), last needed by node
  // `dies` (the number of nodes: a graph output).
  int64_t born = -1;
  int64_t dies = -1;
};

// Graph inputs and computed values; initializers are not part of it.
struct Storage {
  std::vector<int32_t> buffer_of;  // by index of the value; -1: none
  std::vector<Buffer> buffers;
  int64_t num_nodes = 0;
};

enum class Reuse : uint8_t {
  kViews,         // views share the memory of what they view
  kInPlace,       // besides, element-wise operators overwrite an input that nobody needs any more
  kTraining,      // as kViews, but Dropout is at work and no view
  kTrainingHere,  // besides, parts of a concatenation are computed in their place
};

// The graph must be sorted. Values of unknown shape take no memory.
Storage plan_storage(const Graph& graph, Reuse reuse);

struct Peak {
  int64_t bytes = 0;
  int64_t node = -1;  // position of the node at which it is reached
};

// The most that is needed at one time; the first such node.
Peak peak_of(const Storage& storage);

}  // namespace trainyard::analysis
