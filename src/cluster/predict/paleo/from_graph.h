// A graph seen as PALEO sees networks: convolutions, matrix products, pooling and dropout.
#pragma once

#include "cluster/predict/paleo/model.h"
#include "ir/graph.h"

namespace trainyard::predict::paleo {

// Sizes per image; the batch the graph was built with does not matter. Everything PALEO does not
// charge for (normalization, activations, element-wise, …) is left out. Throws Error for
// convolutions that are not two-dimensional.
Net net_from_graph(const Graph& graph);

}  // namespace trainyard::predict::paleo
