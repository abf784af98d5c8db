// Middles and spreads of a few numbers.
#pragma once

#include <vector>

namespace trainyard::transformer {

// Between the two nearest of the sorted values; 1 if there are none.
double quantile_of(std::vector<double> values, double share);
// 0 if there are none.
double mean_of(const std::vector<double>& values);

}  // namespace trainyard::transformer
