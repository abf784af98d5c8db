// From a batch of a data set to the inputs of an objective.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "data/loader.h"
#include "train/training_step.h"

namespace trainyard::train {

struct ObjectiveInput {
  std::string_view name;
  Tensor* tensor = nullptr;  // may have fewer samples than the batch: its first ones are meant
};

// Fills every input of an objective with the targets of a batch. Throws Error for an input that the
// data has nothing for.
using Feed = std::function<void(const data::Batch& batch, std::span<const ObjectiveInput> inputs)>;

// For the objectives by name: kLabelsInput gets the classes, kTargetsInput the probabilities or
// numbers, or 1 for the class and 0 elsewhere.
void feed_classes(const data::Batch& batch, std::span<const ObjectiveInput> inputs);

// For language models: kLabelsInput gets the tokens that are wanted, or the first and last of
// an answer.
void feed_tokens(const data::Batch& batch, std::span<const ObjectiveInput> inputs);

// The images or tokens into the network's first input, the targets by `feed`.
void feed_step(const data::Batch& batch, const Feed& feed, TrainingStep& step);

}  // namespace trainyard::train
