#include "cluster/schedule/loss/stages.h"

#include <algorithm>
#include <cmath>

#include "cluster/schedule/loss/clean.h"

namespace trainyard::schedule {
namespace {

constexpr std::array kPrefixes = {0.1, 0.2, 0.4, 0.7};
// A drop of the rate shows as a fall of this share within one point, this many times the usual.
constexpr double kDrop = 0.12;
constexpr double kDropFactor = 6;
// With fewer points the ones held back say too little about which model is right.
constexpr size_t kFewestForChoice = 30;

std::vector<double> behind(const Curve& curve, StageRange range, double origin) {
  std::vector<double> k;
  for (size_t i = range.first; i < range.last; ++i) k.push_back(curve.k[i] - origin);
  return k;
}

double mape(const LossFit& fit, std::span<const double> k, std::span<const double> loss,
            double scale) {
  double sum = 0;
  for (size_t i = 0; i < k.size(); ++i) sum += std::fabs(scale * fit.at(k[i]) / loss[i] - 1);
  return sum / static_cast<double>(std::max<size_t>(1, k.size()));
}

// Fits `model` to the first `points` of a stage as Optimus would: cleaned, by segments.
struct PrefixFit {
  LossFit fit;
  double scale = 1;
};
PrefixFit fit_prefix(LossModel model, std::span<const double> k, std::span<const double> loss,
                     size_t points) {
  const CleanLoss clean = clean_losses(loss.first(points));
  return {fit_loss(model, k.first(points), clean.loss, segment_weights(points)), clean.scale};
}

// The model that, fitted to the first 70 % of `points`, meets the others best. Optimus' own unless
// another is clearly better.
LossModel choose_model(std::span<const double> k, std::span<const double> loss, size_t points) {
  const size_t seen = std::max(kFewestPoints, points * 7 / 10);
  if (points < kFewestForChoice) return LossModel::kInverse;
  LossModel best = LossModel::kInverse;
  double least = 0;
  for (const LossModel model : kLossModels) {
    const PrefixFit prefix = fit_prefix(model, k, loss, seen);
    const double error = mape(prefix.fit, k.subspan(seen, points - seen),
                              loss.subspan(seen, points - seen), prefix.scale);
    const double handicap = model == LossModel::kInverse ? 1 : 1.25;
    if (model == LossModel::kInverse || error * handicap < least) {
      best = model;
      least = error;
    }
  }
  return best;
}

PrefixScore score_prefix(std::span<const double> k, std::span<const double> loss, double share) {
  PrefixScore score;
  score.share = share;
  score.points = std::max(kFewestPoints,
                          static_cast<size_t>(std::lround(share * static_cast<double>(k.size()))));
  score.model = choose_model(k, loss, score.points);
  const auto rest_k = k.subspan(score.points);
  const auto rest = loss.subspan(score.points);
  const PrefixFit inverse = fit_prefix(LossModel::kInverse, k, loss, score.points);
  score.inverse_mape = mape(inverse.fit, rest_k, rest, inverse.scale);
  if (score.model == LossModel::kInverse) {
    score.mape = score.inverse_mape;
  } else {
    const PrefixFit chosen = fit_prefix(score.model, k, loss, score.points);
    score.mape = mape(chosen.fit, rest_k, rest, chosen.scale);
  }
  return score;
}

void join_short(std::vector<StageRange>& stages) {
  for (size_t i = 0; i < stages.size() && stages.size() > 1;) {
    if (stages[i].last - stages[i].first >= kFewestPoints) {
      ++i;
      continue;
    }
    // A short first stage (warm-up) joins the next.
    const size_t into = i == 0 ? 0 : i - 1;
    stages[into].last = stages[into + 1].last;
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(into) + 1);
  }
}

std::vector<StageRange> stages_of_rate(const Curve& curve) {
  std::vector<StageRange> stages = {{0, curve.size()}};
  size_t changes = 0;
  for (size_t i = 1; i < curve.size(); ++i) {
    if (curve.rate[i] == curve.rate[i - 1]) continue;
    ++changes;
    stages.back().last = i;
    stages.push_back({i, curve.size()});
  }
  // A rate that moves with every point has no stages.
  if (changes > curve.size() / kFewestPoints) return {{0, curve.size()}};
  return stages;
}

std::vector<StageRange> detected_stages(const Curve& curve) {
  std::vector<StageRange> stages = {{0, curve.size()}};
  std::vector<double> falls;
  for (size_t i = 1; i < curve.size(); ++i) {
    const double fall = 1 - curve.loss[i] / curve.loss[i - 1];
    const size_t since = i - stages.back().first;
    if (since > 2 * kFewestPoints && fall > kDrop) {
      std::vector<double> recent(falls.end() - static_cast<std::ptrdiff_t>(kFewestPoints),
                                 falls.end());
      std::sort(recent.begin(), recent.end());
      if (fall > kDropFactor * recent[recent.size() / 2]) {
        stages.back().last = i;
        stages.push_back({i, curve.size()});
        falls.clear();
        continue;
      }
    }
    falls.push_back(std::fabs(fall));
  }
  return stages;
}

}  // namespace

std::vector<StageRange> find_stages(const Curve& curve) {
  std::vector<StageRange> stages =
      curve.rate.empty() ? detected_stages(curve) : stages_of_rate(curve);
  join_short(stages);
  return stages;
}

StageFit fit_stage(const Curve& curve, StageRange range, double origin) {
  StageFit stage;
  stage.range = range;
  stage.origin = origin;
  if (!curve.rate.empty()) stage.rate = curve.rate[range.first];
  const std::vector<double> k = behind(curve, range, origin);
  const std::span loss(curve.loss.data() + range.first, range.last - range.first);
  stage.rising = loss.back() > loss.front();
  const CleanLoss clean = clean_losses(loss);
  stage.outliers = clean.outliers;
  stage.scale = clean.scale;
  const std::vector<double> weights = segment_weights(k.size());
  stage.plain = fit_loss(LossModel::kInverse, k, clean.loss, {});
  stage.inverse = fit_loss(LossModel::kInverse, k, clean.loss, weights);
  const LossModel model = choose_model(k, loss, k.size());
  stage.chosen =
      model == LossModel::kInverse ? stage.inverse : fit_loss(model, k, clean.loss, weights);
  for (const double share : kPrefixes) {
    if (static_cast<double>(k.size()) * (1 - share) >= 1 && k.size() > kFewestPoints) {
      stage.scores.push_back(score_prefix(k, loss, share));
    }
  }
  const size_t seen = std::max<size_t>(kFewestPoints, k.size() * 7 / 10);
  const PrefixFit prefix = fit_prefix(model, k, loss, std::min(seen, k.size()));
  stage.tail_mape = seen < k.size() ? mape(prefix.fit, std::span(k).subspan(seen),
                                           loss.subspan(seen), prefix.scale)
                                    : 0;
  return stage;
}

CurveFit fit_curve(const Curve& curve) {
  check_curve(curve);
  CurveFit fit;
  double origin = 0;
  for (const StageRange range : find_stages(curve)) {
    fit.stages.push_back(fit_stage(curve, range, origin));
    origin = curve.k[range.last - 1];
  }
  return fit;
}

}  // namespace trainyard::schedule
