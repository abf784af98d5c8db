// Types and known values of a node's outputs, worked out from its inputs.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace trainyard::ops {

// Checks operator, arity and attributes, then infers. Errors name node and operator.
std::vector<TensorType> infer_types(const Graph& graph, NodeId node);

// infer_types(), stored into the output values together with what shape arithmetic computes.
void infer_node(Graph& graph, NodeId node);

// What is wrong with a graph, one readable line each; empty if it is fine.
std::vector<std::string> verify_graph(const Graph& graph);

}  // namespace trainyard::ops
