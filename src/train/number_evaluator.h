// Regression: how far from the numbers of the data are those that a network gives?
#pragma once

#include "train/evaluate.h"
#include "train/objective.h"

namespace trainyard::train {

// Scores "loss" and means of the objective, the loss decides; "rmse" and "r2", which is 1 less the
// share of the variance that is left; without "r2" where the numbers do not vary. Throws Error
// unless the first output has one number for each row.
std::unique_ptr<Evaluator> make_number_test(Graph& model, const Objective& objective);

}  // namespace trainyard::train
