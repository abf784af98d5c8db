// Graphs as text: one line a value, in the order they are made.
#pragma once

#include <string>

#include "ir/graph.h"

namespace trainyard {

std::string print_graph(const Graph& graph);

// Graphviz source; `dot -Tsvg` draws it.
std::string print_graphviz(const Graph& graph);

}  // namespace trainyard
