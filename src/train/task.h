// What a network is trained for: everything that differs between classification, detection and the
// rest, so that the loops need not know.
#pragma once

#include "data/dataset.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/objective.h"
#include "train/train_config.h"

namespace trainyard::train {

struct Task {
  Objective objective;
  Feed feed;
  MakeEvaluator evaluator;
  // What a network that writes texts writes after an epoch, for people; empty: it writes none.
  std::function<std::string(const Graph& trained)> sample = {};
};

// A number of a row is foretold; `scale` is what differences are counted in.
Task number_task(const TrainConfig& config, double scale);

// That of `train --loss`, for data of this kind: classes are judged by top-k, probabilities by the
// loss. Throws Error for a loss that is not known or does not go with the data.
Task named_task(const TrainConfig& config, data::TargetKind targets);

// That of `train --loss` for this data, whatever its kind. Both arguments must outlive it.
Task task_for(const TrainConfig& config, const data::Dataset& training);

// Whether it is one of language models.
bool models_tokens(std::string_view loss);

// The objective alone. `target_scale` is that of ObjectiveOptions.
Objective named_objective(const TrainConfig& config, double target_scale = 1);

}  // namespace trainyard::train
