// What a training step must keep from the forward pass until the backward pass has used it.
// Each operator says it of itself (ops::Saves). Weights are not part of it: they are there anyway.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::analysis {

struct SavedForBackward {
  std::vector<ValueId> values;  // never initializers
  int64_t extra_bytes = 0;      // statistics that are no value of the graph
};

// `trained` says of each value (by index) whether a gradient flows to it.
SavedForBackward saved_for_backward(const NodeView& node, const std::vector<bool>& trained);

}  // namespace trainyard::analysis
