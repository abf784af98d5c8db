// Two ways to lose less, both without training.
#pragma once

#include "quant/calibrate.h"

namespace trainyard::quant {

// Cross-layer equalization (Nagel et al. 2019, arXiv:1906.04721): where a layer hands its channels
// to one other through at most a Relu, channels are made smaller before and larger after it so that
// both have weights of equal reach. The network computes the same. A Clip from 0 on the way becomes
// a Relu, which it may not compute the same with. Returns how many pairs were equalized, and how
// many clips were opened.
struct Equalized {
  int64_t pairs = 0;
  int64_t opened_clips = 0;
};
Equalized equalize(Prepared& prepared);

// Rounded weights shift the mean of a layer's results by (rounded - exact) * mean of its input; the
// bias takes that back. Layers without a bias get one. Returns how many layers were corrected.
int64_t correct_biases(Graph& graph, const Plan& plan, const ObservedValues& seen,
                       const WeightScheme& scheme, const ValueSteps& steps);

}  // namespace trainyard::quant
