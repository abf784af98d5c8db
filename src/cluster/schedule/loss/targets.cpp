// When a fitted curve gets where it should.
#include <algorithm>
#include <cmath>

#include "cluster/schedule/loss/stages.h"

namespace trainyard::schedule {
namespace {

// The least whole x in [low, high] for which `reached`, which stays true once it is.
template <typename Predicate>
std::optional<double> first_where(double low, double high, const Predicate& reached) {
  if (!reached(high)) return std::nullopt;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (reached(middle) ? high : low) = middle;
  }
  return reached(low) ? low : high;
}

}  // namespace

std::optional<double> convergence_k(const StageFit& stage, double threshold, double limit) {
  // A fit to rising losses is flat, which is no sign of having learned all there is.
  if (stage.rising) return std::nullopt;
  const auto slow = [&](double k) {
    return stage.chosen.at(k - 1) - stage.chosen.at(k) < threshold;
  };
  const auto k = first_where(1, limit, slow);
  if (!k) return std::nullopt;
  return *k + stage.origin;
}

std::optional<double> k_of_loss(const StageFit& stage, double loss, double limit) {
  const auto k =
      first_where(0, limit, [&](double at) { return stage.scale * stage.chosen.at(at) <= loss; });
  if (!k) return std::nullopt;
  return *k + stage.origin;
}

std::optional<AccuracyPoint> k_of_accuracy(const Curve& curve, double accuracy, double limit) {
  std::vector<double> k;
  std::vector<double> error;
  for (size_t i = 0; i < curve.accuracy.size(); ++i) {
    if (!std::isfinite(curve.accuracy[i])) continue;
    if (curve.accuracy[i] >= accuracy) return AccuracyPoint{curve.k[i], true};
    k.push_back(curve.k[i]);
    error.push_back(1 - curve.accuracy[i]);
  }
  if (k.size() < kFewestPoints) return std::nullopt;
  const LossFit fit = fit_loss(LossModel::kInverse, k, error, {});
  const auto found = first_where(std::floor(k.back()), limit,
                                 [&](double at) { return fit.at(at) <= 1 - accuracy; });
  if (!found) return std::nullopt;
  return AccuracyPoint{*found, false};
}

}  // namespace trainyard::schedule
