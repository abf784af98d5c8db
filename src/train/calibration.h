// Whether a classifier is as often right as it says.
#pragma once

#include "train/evaluate.h"

namespace trainyard::train {

// Bins of equal width over the probability of the first guess (Guo et al. 2017).
constexpr size_t kCalibrationBins = 15;

// Scores "calibration_error": how far accuracy and mean probability of the first guess are apart,
// mean over the bins weighted by images. The first output are scores, whose softmax is taken.
// Throws Error unless it is images x classes.
std::unique_ptr<Evaluator> make_calibration(const Graph& model);

// All that is asked of a classifier: loss, top-1, top-5, confusion matrix and calibration error. A
// final Softmax is taken off. Throws Error unless the first output is images x classes.
std::unique_ptr<Evaluator> make_classifier_test(Graph& model);

}  // namespace trainyard::train
