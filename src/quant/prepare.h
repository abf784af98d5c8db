// The float network as it is quantized: normalization folded into weights, nothing but operators
// that ONNX has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace trainyard::quant {

// How a batch normalization says its result is distributed, by channel.
struct Normalized {
  std::vector<double> mean;
  std::vector<double> sigma;
};

struct Prepared {
  Graph graph;
  // By the name of the value that holds the result.
  std::map<std::string, Normalized> normalized;
};

// Draws weights that are still rules by `seed`. Throws Error for a network that is quantized
// already, and for one without a convolution or matrix product to quantize.
Prepared prepare(Graph graph, uint64_t seed);

// A reshape to the batch of this graph takes it from its input instead, so that the network runs
// with any.
void open_batch(Graph& graph);

}  // namespace trainyard::quant
