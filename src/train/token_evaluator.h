// How well a network foretells tokens.
#pragma once

#include "data/text/tokens.h"
#include "train/evaluate.h"

namespace trainyard::train {

// Scores "loss" (mean cross-entropy of a token in nats, without smoothing, which decides),
// "perplexity" and, if `bytes_per_token` is known (not 0), "bits_per_byte". Throws Error unless the
// first output is batch x length x vocabulary.
std::unique_ptr<Evaluator> make_token_evaluator(const Graph& model, double bytes_per_token);

}  // namespace trainyard::train
