// How much of the input one output position sees.
//
// Positions are pixels of the graph's input; pixel 0 is the first, and a layer may reach into the
// padding (negative positions, positions beyond the last). Where branches meet, the field spans all
// of them. The field is the theoretical one: it may be larger than the input.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace trainyard::analysis {

// One spatial dimension: output position i sees the pixels first + i * jump … last + i * jump.
struct Extent {
  double first = 0;
  double last = 0;
  double jump = 1;

  double size() const { return last - first + 1; }
  double center() const { return (first + last) / 2; }
};

struct LayerField {
  std::string name;
  std::string op;
  // One entry per spatial dimension; empty if the layer sees the whole input.
  std::vector<Extent> extents;
  // False for what does not depend on the input at all.
  bool sees_input = true;
  bool whole_input() const { return sees_input && extents.empty(); }
};

struct FieldTable {
  std::string model;
  std::vector<int64_t> input;      // spatial dimensions of the first graph input
  std::vector<LayerField> layers;  // the graph inputs, then the nodes in order
};

// Global pooling, matrix products and everything else that mixes positions sees the whole input.
FieldTable analyze_receptive_fields(const Graph& graph);

// One layer of a plain stack, counted from the input.
struct StackField {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t size = 1;
  int64_t jump = 1;
};

// The field after each layer; strides may be empty (all 1). Throws Error for kernels or strides
// below 1, for a number of strides other than that of kernels, and for an overflow.
std::vector<StackField> stack_fields(std::span<const int64_t> kernels,
                                     std::span<const int64_t> strides);

// The size of the single filter that sees as much as the whole stack: N * F - N + 1 for N filters
// of size F at stride 1.
int64_t receptive_field(std::span<const int64_t> kernels, std::span<const int64_t> strides);

}  // namespace trainyard::analysis
