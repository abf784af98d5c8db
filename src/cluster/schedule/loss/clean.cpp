#include "cluster/schedule/loss/clean.h"

#include <algorithm>
#include <cmath>

namespace trainyard::schedule {
namespace {

constexpr size_t kWindow = 5;

bool is_outlier(std::span<const double> loss, size_t i) {
  const std::span before = loss.subspan(i - std::min(i, kWindow), std::min(i, kWindow));
  const std::span after = loss.subspan(i + 1, std::min(kWindow, loss.size() - i - 1));
  return (!before.empty() && loss[i] > *std::max_element(before.begin(), before.end())) ||
         (!after.empty() && loss[i] < *std::min_element(after.begin(), after.end()));
}

double mean_of_neighbors(std::span<const double> loss, size_t i) {
  if (i == 0) return loss[1];
  if (i + 1 == loss.size()) return loss[i - 1];
  return (loss[i - 1] + loss[i + 1]) / 2;
}

}  // namespace

CleanLoss clean_losses(std::span<const double> loss) {
  CleanLoss clean;
  clean.loss.assign(loss.begin(), loss.end());
  clean.scale = *std::max_element(loss.begin(), loss.end());
  for (size_t i = 0; i < loss.size(); ++i) {
    if (!is_outlier(loss, i)) continue;
    clean.outliers.push_back(i);
    clean.loss[i] = mean_of_neighbors(loss, i);
  }
  for (double& value : clean.loss) value /= clean.scale;
  return clean;
}

std::vector<double> segment_weights(size_t points) {
  std::vector<double> weights(points);
  const size_t segment = (points + 2) / 3;
  for (size_t i = 0; i < points; ++i) {
    const size_t number = i / segment;
    weights[i] = std::pow(4.0, static_cast<double>(number));
  }
  return weights;
}

}  // namespace trainyard::schedule
