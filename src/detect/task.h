// Detection as a task of the training loop.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "ir/graph.h"
#include "models/detection/priors.h"
#include "models/onnx/metadata.h"
#include "train/task.h"
#include "train/train_config.h"

namespace trainyard::detect {

// For a detector of the zoo on data with boxes: multibox loss, judged by mean average precision.
// Priors have these shapes. Throws Error if the network is no detector.
train::Task detection_task(const Graph& model, const data::Dataset& training,
                           std::vector<PriorShape> shapes);

// The shapes that a run's setting `priors` stands for, as it is kept: "ssd" or a list. "fitted"
// ones are of the training boxes, "auto" ones of `known`, what the network or its weights say of
// themselves. Throws Error for what is neither of these nor a list.
std::string settle_priors(const train::TrainConfig& config, const Graph& model,
                          const data::Dataset& training, const onnx_io::Metadata& known);

}  // namespace trainyard::detect
