// Which initializers are parameters of the network, and whose. Training, counting and saving all
// ask here.
//
// An initializer is a parameter if it stands where its operator takes a weight, a bias or a
// statistic (ops::param_role), directly or through what moves its elements (views, transposes,
// Expand, Slice …) or changes them one by one (Exp), and is of a float type (or a factor of a
// quantized product). So is one that is concatenated with what the network has computed, such as a
// class token. It belongs to the first node that uses it so, and counts once however often it is
// shared.
//
// Element-wise operators take constants of all sorts in the same places. There it is a parameter
// only if the other operand depends on a parameter, so that what prepares the input is not, and if
// * it is a vector (one dimension other than 1): a scale or a bias for each channel; or
// * it is a table and a layer comes after it, as after position embeddings and not after prior
//   boxes; masks (two different numbers, one of them 0, or infinities) are not; or
// * it is one number in a vector and the only bias of a layer's only output.
// Other single numbers are constants that exporters write: epsilons, roots, halves.
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

struct ParameterSearch {
  std::vector<Parameter> parameters;  // in the order of the owners
  // Float initializers of several numbers that take part in what the network computes and are no
  // parameters, in the order of their use.
  std::vector<ValueId> fixed;
};

// The graph must be sorted.
ParameterSearch search_parameters(const Graph& graph);
std::vector<Parameter> find_parameters(const Graph& graph);

}  // namespace trainyard::analysis
