// The update of parameters by their gradients, as nodes of a graph.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ops/builder.h"
#include "runs/safetensors.h"
#include "train/training_graph.h"

namespace trainyard::train {

// Adds an initializer of zeros, `prefix` and the value's name, of the value's type.
ValueId add_state(ops::Builder& builder, std::string_view prefix, ValueId of);

struct UpdateNodes {
  std::vector<StateUpdate> parameters;  // in the order given
  std::vector<StateUpdate> optimizer;
  std::vector<size_t> owners;  // of each of `optimizer`, as an index into the parameters
};

// Adds the inputs kRateInput and kUpdatesInput, and the nodes. Throws Error for an unknown
// optimizer.
UpdateNodes add_update_nodes(ops::Builder& builder, const OptimizerOptions& options,
                             std::span<const ValueId> parameters, std::vector<ValueId> gradients);

// The update alone: inputs are the gradients of `parameters`, then learning_rate and updates; the
// states are the parameters, then what the optimizer keeps. `owners`, unless null, becomes the
// parameter of each state, as an index.
TrainingGraph make_update_graph(std::span<const runs::NamedType> parameters,
                                const OptimizerOptions& options,
                                std::vector<size_t>* owners = nullptr);

}  // namespace trainyard::train
