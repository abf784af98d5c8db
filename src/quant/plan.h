// What becomes int8: which nodes compute with steps, and which values are rounded to them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/node_view.h"

namespace trainyard::quant {

struct PlanOptions {
  // Layers that stay in float, with the reason, by the name of their node.
  std::map<std::string, std::string> keep_float = {};
  // Round every result of an int8 layer, also where only float operators want it: what operators on
  // integers need.
  bool round_all_results = false;
};

struct Plan {
  // Convolutions and matrix products with known weights, in the order they run.
  std::vector<NodeId> layers;
  std::set<NodeId> int8;  // those of them that are quantized
  // Values that are rounded to steps, in the order they are made. Those of one group share steps.
  std::vector<ValueId> values;
  std::map<ValueId, size_t> group;
  bool round_outputs = false;  // the network's outputs are those of the steps

  bool is_int8(NodeId id) const { return int8.contains(id); }
};

// A layer is given its input in steps; its result is rounded if that keeps what follows (sums,
// concatenations, pools, reshapes) in steps up to the next int8 layer. So the tails of networks,
// softmax and the decoding of boxes, stay in float.
Plan make_plan(const Graph& graph, const PlanOptions& options);

// Names of operators outside of `plan` that compute with floats, and how many nodes each: what has
// no int8 form or does not lie between int8 layers.
std::map<std::string, int64_t> float_operators(const Graph& graph, const Plan& plan);

// A convolution or matrix product with weights that are known: what quantization is about.
bool is_layer(const NodeView& node);
// The axis of a layer's weights along which its output channels lie, and that of its inputs.
int64_t output_axis(const NodeView& layer);
int64_t input_axis(const NodeView& layer);

// Where the result of a node is rounded: after a Relu or a Clip that nobody else's result goes
// through, else at once.
ValueId rounded_result(const Graph& graph, NodeId node);

}  // namespace trainyard::quant
