// Classification: is the right class the first guess, or among the first five?
#pragma once

#include "train/evaluate.h"

namespace trainyard::train {

// Scores "loss" (mean cross-entropy, if `with_loss`), "top1", which decides, and "top5", and the
// confusion matrix. Throws Error unless the first output is images x classes.
std::unique_ptr<Evaluator> make_top_k(const Graph& model, bool with_loss);

// -log softmax(scores)[label], safe for large scores.
double cross_entropy(std::span<const float> scores, size_t label);

}  // namespace trainyard::train
