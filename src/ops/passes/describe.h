// The graph that tables and predictions look at.
#pragma once

#include "ir/graph.h"

namespace trainyard::passes {

// Folds what the operators themselves can compute, without kernels, and recognizes operators that
// exporters write as arithmetic: a file then costs what the built-in network costs. Nothing is
// merged that built-in networks have apart, and Dropout stays.
void describe(Graph& graph);

}  // namespace trainyard::passes
