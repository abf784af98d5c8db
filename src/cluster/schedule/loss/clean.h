// What Optimus does to losses before it fits them (Peng et al., EuroSys 2018, section 3.1).
#pragma once

#include <span>
#include <vector>

namespace trainyard::schedule {

struct CleanLoss {
  std::vector<double> loss;      // outliers replaced, divided by `scale`
  std::vector<size_t> outliers;  // ascending
  double scale = 1;              // the largest loss
};

// A point above the largest of the 5 before it or below the smallest of the 5 after it is an
// outlier and becomes the mean of its neighbors.
CleanLoss clean_losses(std::span<const double> loss);

// Weights of residuals: points are cut into three equal segments, each of which counts 4 times as
// much as the one before, since what matters is how the curve goes on.
std::vector<double> segment_weights(size_t points);

}  // namespace trainyard::schedule
