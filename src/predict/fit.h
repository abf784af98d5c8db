// Fits the few numbers of a software stack to measured speeds.
#pragma once

#include <span>

#include "predict/device.h"
#include "predict/profile.h"
#include "predict/stack.h"
#include "predict/step.h"

namespace trainyard::predict {

struct FitRow {
  const NetworkProfile* profile = nullptr;
  const Device* device = nullptr;
  double batch = 1;
  Precision precision = Precision::kFp32;
  Mode mode = Mode::kTraining;
  double images_per_s = 0;
};

// images/s of a row with `stack` as it stands.
double predicted_speed(const FitRow& row, const Stack& stack);

// The stack with efficiencies (of every class of device in `rows`) and device factors that minimise
// the squared logarithms of predicted / measured, each parameter held near its value in `prior`,
// the more so the fewer rows there are. Deterministic.
Stack fit_stack(const Stack& prior, std::span<const FitRow> rows);

}  // namespace trainyard::predict
