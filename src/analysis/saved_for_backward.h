// What a training step must keep from the forward pass until the backward pass has used it.
//
//   Conv, Gemm, MatMul, Mul       each factor whose partner is trained
//   Relu, Sigmoid, Tanh, Exp, …   the output, where the slope follows from it
//   Softmax, LogSoftmax, Clip     the output
//   other functions of one input  the input
//   BatchNormalization            the input, mean and deviation of each channel
//   other normalizations          the input
//   LRN, MaxPool, GlobalMaxPool   the input, from which backward finds sums and maxima again
//   Dropout                       nothing: its generator gives the same numbers again
//   Add, Sub, Neg, averages, reductions to sums or means, copies and views    nothing
//   everything else               all inputs and outputs
//
// Weights are not part of it: they are there anyway.
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
