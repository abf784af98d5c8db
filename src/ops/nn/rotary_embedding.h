// The sizes of a RotaryEmbedding node, shared by inference and kernels.
#pragma once

#include "ops/nn/attention.h"

namespace trainyard::ops {

struct RotaryShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t rows = 0;
  int64_t depth = 0;         // columns of a head
  int64_t turned = 0;        // of which the first are turned, in pairs
  bool interleaved = false;  // a pair lies side by side, or half of `turned` apart
  HeadStrides strides;
};

RotaryShape rotary_shape(const NodeView& node);

}  // namespace trainyard::ops
