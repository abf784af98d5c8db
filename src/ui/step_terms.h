// What a step of a run takes, measured and predicted, and which of its terms is wrong.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// In milliseconds; they add up to `step`.
struct StepTerms {
  double step = 0;
  double input = 0;    // waiting for images
  double exposed = 0;  // exchange that nothing is computed in, with waiting for slower ranks
  double compute = 0;  // all else
};

// Of the last epoch, or the last step before one has ended; nothing where neither says how long.
std::optional<StepTerms> measured_step(const Run& run);
// Of what whoever predicts has said: "step_ms", and what it has of "input_ms" and "exposed_ms".
std::optional<StepTerms> predicted_step(const Json& predicted);

Json to_json(const StepTerms& terms);

// The term that the prediction is wrong by most, in words, if measured and predicted are a quarter
// apart; empty otherwise. `others` is the share of the processors that other processes used,
// `workers_ms` what each worker computed in a step.
std::string wrong_term(const StepTerms& measured, const StepTerms& predicted, double others,
                       std::span<const double> workers_ms);

// Until the last epoch ends, at the speed so far; nothing for a run that is not running.
std::optional<double> seconds_left(const Run& run);

}  // namespace trainyard::ui
