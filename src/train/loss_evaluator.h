// The loss of a test: that of training, whatever it is.
#pragma once

#include "train/evaluate.h"
#include "train/feed.h"

namespace trainyard::train {

// Scores "loss", which decides (less is better), and the objective's means. A final Softmax or
// Sigmoid is taken from the outputs of `model`, as objectives do it in training.
std::unique_ptr<Evaluator> make_loss_evaluator(Graph& model, Objective objective, Feed feed);

}  // namespace trainyard::train
