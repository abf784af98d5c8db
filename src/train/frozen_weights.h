// The weights that a training step leaves as they are: those of --freeze, and statistics that are
// kept. They belong to what a run saves, since a network is not whole without them.
#pragma once

#include <span>
#include <vector>

#include "engine/executable.h"
#include "ir/graph.h"
#include "runs/checkpoint.h"
#include "train/train_config.h"

namespace trainyard::train {

// The network with the numbers that its training starts from, if some of them stay: whoever writes
// or tests it draws the same.
Graph with_frozen_numbers(Graph model, const TrainConfig& config);

class FrozenWeights {
 public:
  // Parameters and statistics of `model` that are not among `states`. The model outlives this; it
  // has the numbers of those.
  FrozenWeights(const Graph& model, std::span<const runtime::Port> states);

  void add_types(std::vector<runs::NamedType>& types) const;
  void add_states(std::vector<runs::StateTensor>& states) const;
  // Throws Error if a checkpoint has others.
  void require_same(const runs::Checkpoint& checkpoint) const;

 private:
  const Graph& model_;
  std::vector<ValueId> ids_;
};

}  // namespace trainyard::train
