// Optimus' loss model holds while the learning rate stays the same, so a curve is fitted stage by
// stage.
#pragma once

#include <optional>
#include <vector>

#include "cluster/schedule/loss/curve.h"
#include "cluster/schedule/loss/fit.h"

namespace trainyard::schedule {

// Points first … last-1 of a curve.
struct StageRange {
  size_t first = 0;
  size_t last = 0;
};

// Where the rate is known, its constant stretches; a rate that moves all the time (cosine, warm-up)
// is one stage. Where it is not, a stage ends where the loss falls by a share that it had not
// fallen by in many points before. Stages of fewer than kFewestPoints points join the one before.
std::vector<StageRange> find_stages(const Curve& curve);

// How well the fit of the first points of a stage predicts the rest of it.
struct PrefixScore {
  double share = 0;  // of the stage's points that were seen
  size_t points = 0;
  LossModel model = LossModel::kInverse;  // what was chosen by the points held back from the prefix
  double mape = 0;                        // of the rest, in 0..1: the chosen model
  double inverse_mape = 0;                // Optimus' model with its weights
};

struct StageFit {
  StageRange range;
  double rate = 0;               // 0: not known
  std::vector<size_t> outliers;  // indices into the stage
  double scale = 1;              // what losses were divided by
  double origin = 0;             // k of the fits starts here (0 for the first stage)
  LossFit inverse;               // Optimus' model, weighted by segments
  LossFit plain;                 // the same without weights
  LossFit chosen;                // the one with the least error on points held back
  double tail_mape = 0;          // of `chosen` fitted on the first 70 %, on the last 30 %
  std::vector<PrefixScore> scores;
  bool rising = false;  // the loss ends above where it began

  // In the units of the curve.
  double loss_at(double k) const { return scale * chosen.at(k - origin); }
};

// Fits points of one stage; `first_stage` counts k from 0, later ones from the last k of the stage
// before.
StageFit fit_stage(const Curve& curve, StageRange range, double origin);

struct CurveFit {
  std::vector<StageFit> stages;
};
CurveFit fit_curve(const Curve& curve);

// The first whole k, behind the points there are or not, from which on the fitted loss (as a share
// of the largest) falls by less than `threshold` per unit of k. No value if it is beyond `limit` or
// the losses rise.
std::optional<double> convergence_k(const StageFit& stage, double threshold, double limit = 1e9);
// The first k at which the fitted curve is at most `loss`; no value if its floor is above.
std::optional<double> k_of_loss(const StageFit& stage, double loss, double limit = 1e9);
// The k at which an accuracy is reached: read off the curve where it was reached, or else from the
// accuracy fitted as a falling error over k. `measured` says which.
struct AccuracyPoint {
  double k = 0;
  bool measured = true;
};
std::optional<AccuracyPoint> k_of_accuracy(const Curve& curve, double accuracy, double limit = 1e9);

}  // namespace trainyard::schedule
