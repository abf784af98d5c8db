// The update of parameters by their gradients, as nodes of a graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/builder.h"
#include "runs/safetensors.h"
#include "train/training_graph.h"

namespace trainyard::train {

// Adds an initializer of zeros, `prefix` and the value's name, of the value's type.
ValueId add_state(ops::Builder& builder, std::string_view prefix, ValueId of);

// What a state is: that of a parameter, as an index, and the beginning of its name; empty for the
// parameter itself.
struct StateOwner {
  size_t parameter = 0;
  std::string prefix = {};
};

struct UpdateNodes {
  std::vector<StateUpdate> parameters;  // in the order given
  std::vector<StateUpdate> optimizer;
  std::vector<StateOwner> owners;  // of each of `optimizer`
  ValueId rate, updates;           // the inputs of StepInputs
  ValueId norm;                    // of the gradients, if it is asked for
};

// Of the names of nodes, for readers.
inline constexpr const char* kUpdatePrefix = "update.";

// Adds the inputs for rate and number of the update, and the nodes. Throws Error for an unknown
// optimizer.
UpdateNodes add_update_nodes(ops::Builder& builder, const OptimizerOptions& options,
                             std::span<const ValueId> parameters, std::vector<ValueId> gradients);

// The update alone: inputs are the gradients of `parameters`, then rate and updates; the
// states are the parameters, then what the optimizer keeps. `owners`, unless null, becomes that of
// each state.
TrainingGraph make_update_graph(std::span<const runs::NamedType> parameters,
                                const OptimizerOptions& options,
                                std::vector<StateOwner>* owners = nullptr);

}  // namespace trainyard::train
