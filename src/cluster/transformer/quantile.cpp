#include "cluster/transformer/quantile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard::transformer {

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  std::ranges::sort(values);
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace trainyard::transformer
