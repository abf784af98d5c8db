// What each layer of a network holds and costs, and the totals. Conventions: docs/analysis.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/op_def.h"

namespace trainyard::analysis {

// Numbers of elements; which initializers they come from is decided by analysis/parameters.h.
struct ParamCounts {
  int64_t weights = 0;
  int64_t biases = 0;
  int64_t statistics = 0;  // running means and variances, which no gradient reaches
  int64_t trainable() const { return weights + biases; }
};

// All for one pass of the graph's whole batch.
struct Figures {
  int64_t activations = 0;  // elements of the outputs
  int64_t activation_bytes = 0;
  ParamCounts params;
  ops::Cost cost;

  int64_t bytes_moved() const { return cost.bytes_read + cost.bytes_written; }
  // FLOPs per byte moved; 0 if nothing moves.
  double intensity() const;
};

struct Layer {
  std::string name;
  std::string op;         // "Input" for a graph input
  std::string_view kind;  // ops::kind_name, or "input"
  Shape output_shape;     // of output 0; scalar if the node has none
  Figures figures;
  // Of convolutions and pooling; empty for the others and where a file leaves them out.
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
  // The output needs no memory of its own: a view, or element-wise over an input that nobody needs
  // any more.
  bool in_place = false;
};

struct KindTotal {
  std::string_view kind;
  int64_t layers = 0;
  Figures figures;
};

// Nodes that were counted with no MACs and no FLOPs.
struct NotCounted {
  std::string op;
  int64_t nodes = 0;
  bool unknown_shape = false;  // only the data decides how much work it is
};

struct LayerTable {
  std::string model;
  std::vector<Layer> layers;   // the graph inputs, then the nodes in order
  std::vector<Shape> outputs;  // of the graph
  Figures totals;
  int64_t stored_activations = 0;  // of the layers that are not in place
  std::vector<KindTotal> kinds;    // most FLOPs first
  std::vector<NotCounted> not_counted;
};

// The graph must be sorted and its types inferred. Throws Error naming an unknown operator.
LayerTable analyze_layers(const Graph& graph);

// part / total; 0 of nothing is 0.
double share(int64_t part, int64_t total);

}  // namespace trainyard::analysis
