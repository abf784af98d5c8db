// Which initializers are parameters of the network, and whose.
//
// An initializer is a parameter if it stands where its operator takes a weight, a bias or a
// statistic (ops::param_role), directly or through views and transposes, and is of a float type (or
// a factor of a quantized product). It belongs to the first node that uses it so, and counts once
// however often it is shared.
// Element-wise operators take constants of all sorts in the same places; there only a vector (one
// dimension other than 1: a scale or a bias per channel) is a parameter; scalars and tables such as
// prior boxes are not.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ops/op_def.h"

namespace trainyard::analysis {

struct Parameter {
  ValueId value;
  NodeId owner;
  ops::ParamRole role = ops::ParamRole::kWeight;  // never kNone

  bool trainable() const { return role != ops::ParamRole::kStatistic; }
};

// In the order of the owners. The graph must be sorted.
std::vector<Parameter> find_parameters(const Graph& graph);

}  // namespace trainyard::analysis
