// Answers in texts: is the span that a network finds the right one?
#pragma once

#include "train/evaluate.h"

namespace trainyard::train {

// Scores "loss", "exact" (the share of spans that are right) and "f1", which decides: the mean of
// the harmonic mean of precision and recall over tokens (Rajpurkar et al. 2016). The span with the
// largest sum of scores that does not end before it begins is taken. Throws Error unless the first
// output is batch x length x 2.
std::unique_ptr<Evaluator> make_span_test(const Graph& model);

}  // namespace trainyard::train
