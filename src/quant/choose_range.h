// Which part of what was seen the steps are to cover.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quant/histogram.h"
#include "quant/scheme.h"

namespace trainyard::quant {

// kMinMax covers everything; kPercentile leaves out a share at both ends; kEntropy keeps the
// distribution (least divergence of what the steps can tell from what was counted); kMse makes the
// expected squared error least.
enum class Calibration : uint8_t { kMinMax, kPercentile, kEntropy, kMse };

// "min-max", "percentile", "entropy", "mse".
const std::vector<std::string>& calibration_names();
Calibration calibration_from_name(std::string_view name);

struct RangeRule {
  Calibration method = Calibration::kMinMax;
  double percentile = 99.99;  // what kPercentile keeps
  int64_t bits = 8;
  bool symmetric = false;
};

// Of a histogram that has counted something.
Range choose_range(const Histogram& histogram, const RangeRule& rule);

// Signal and noise of values that are rounded to the steps, as sqnr_db().
double rounding_sqnr_db(const Histogram& histogram, const Steps& steps);

}  // namespace trainyard::quant
