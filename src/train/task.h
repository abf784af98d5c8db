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
};

// That of `train --loss`, for data of this kind: classes are judged by top-k, probabilities by the
// loss. Throws Error for a loss that is not known or does not go with the data.
Task named_task(const TrainConfig& config, data::TargetKind targets);

// The objective alone.
Objective named_objective(const TrainConfig& config);

}  // namespace trainyard::train
