// How activations and gradients of a step are spread.
#pragma once

#include <cstdint>

#include "runs/events.h"
#include "train/training_step.h"

namespace trainyard::train {

// While it lives, each run of `step` writes a histogram of what every node of the network computes
// (activation/NODE) and of the gradient of every parameter (gradient/PARAMETER), filed under `at`.
// Both arguments outlive it.
class StepHistograms {
 public:
  StepHistograms(TrainingStep& step, runs::EventWriter& events, int64_t at);
  ~StepHistograms() { step_.set_observer(nullptr); }
  StepHistograms(const StepHistograms&) = delete;
  StepHistograms& operator=(const StepHistograms&) = delete;

 private:
  TrainingStep& step_;
};

}  // namespace trainyard::train
