// Detection as a task of the training loop.
#pragma once

#include "data/dataset.h"
#include "ir/graph.h"
#include "train/task.h"

namespace trainyard::detect {

// For a detector of the zoo on data with boxes: multibox loss, judged by mean average precision.
// Throws Error if the network is no detector.
train::Task detection_task(const Graph& model, const data::Dataset& training);

}  // namespace trainyard::detect
