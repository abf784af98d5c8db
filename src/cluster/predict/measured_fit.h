// Rates of a measured machine from the times of small graphs.
#pragma once

#include <span>
#include <vector>

#include "cluster/predict/measured.h"

namespace trainyard::predict {

// What was measured in one piece, and what it consists of.
struct MeasuredSample {
  std::vector<Term> terms;
  double seconds = 0;
};

// Non-negative rates that minimize the relative errors of the samples, those that no rates explain
// counting less, with the size of cache that suits them best. Where a family was not seen, bytes
// move at `bytes_per_s`. Deterministic.
MeasuredCosts fit_costs(std::span<const MeasuredSample> samples, double bytes_per_s);

// How well a family's samples are met: the mean of |predicted / measured - 1| over samples of
// `family` and `pass` alone, weighted by their seconds; no value where there are none.
struct FamilyError {
  int64_t samples = 0;
  double error = 0;
};
FamilyError family_error(std::span<const MeasuredSample> samples, const MeasuredCosts& costs,
                         Family family, Pass pass);

}  // namespace trainyard::predict
