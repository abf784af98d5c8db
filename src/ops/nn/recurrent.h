// The sizes of an RNN, GRU or LSTM node, shared by inference and kernels.
#pragma once

#include <cstdint>

#include "ir/node_view.h"

namespace trainyard::ops {

struct RecurrentSizes {
  int64_t gates = 1;       // 1 (RNN), 3 (GRU), 4 (LSTM)
  int64_t directions = 1;  // 2: forward, then reverse
  int64_t sequence = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  bool batch_first = false;  // layout = 1
};

// Throws Error for operands that do not fit together.
RecurrentSizes recurrent_sizes(const NodeView& node);

}  // namespace trainyard::ops
