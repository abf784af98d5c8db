// Nodes whose shapes only the data decides: inferred, given a kernel and run with actual tensors.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace trainyard::runtime {

// Runs one node by its reference kernel, or by one that makes its outputs unless `reference_only`.
// Absent inputs are null. Throws Error for bad data.
std::vector<Tensor> run_dynamic_node(const Graph& graph, NodeId node,
                                     std::span<const Tensor* const> inputs, bool reference_only);

// Error unless a value that was planned as this one may be of type `made`: everything after it
// counts on what was inferred, with other sizes only where they were unknown.
void require_planned(const Value& planned, const TensorType& made);

// A node whose inputs are all known, for constant folding. Empty if it cannot be evaluated.
std::vector<Tensor> evaluate_node(const Graph& graph, NodeId node);

}  // namespace trainyard::runtime
