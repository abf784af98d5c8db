// Small edits that several passes make.
#pragma once

#include "ir/graph.h"
#include "ir/node_view.h"

namespace trainyard::passes {

// The node that makes `id`, if nothing but one other node uses it; invalid otherwise.
NodeId sole_producer(const Graph& graph, ValueId id);

// Uses of the node's first output become uses of `to`; the node goes.
void bypass(Graph& graph, NodeId node, ValueId to);

// Sets an input, making the list longer where it has to be.
void set_input(Graph& graph, NodeId node, size_t position, ValueId value);

// A new constant beside the graph, named after `base`.
ValueId add_constant(Graph& graph, std::string_view base, Tensor data);

// Drops a value that is an initializer nobody uses, and frees its data.
bool drop_if_unused(Graph& graph, ValueId id);

// The same for all initializers.
bool drop_unused_initializers(Graph& graph);

// Drops nodes that no output depends on, and then such initializers. The graph is sorted.
bool remove_unused(Graph& graph);

}  // namespace trainyard::passes
