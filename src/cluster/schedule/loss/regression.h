// The coefficients of Optimus' loss model as functions of a network's depth and of the device: a
// model of models.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/schedule/loss/curve.h"
#include "cluster/schedule/loss/fit.h"

namespace trainyard::schedule {

// l(k) = scale * (1/(b0 k + b1) + b2), fitted to all points of a curve with equal weights.
struct CurveModel {
  std::string name = {};
  double depth = 0;
  std::string device = {};  // empty: not known
  size_t points = 0;
  Beta beta = {};
  Beta standard_error = {};
  double scale = 1;  // the largest loss, which losses are divided by before they are fitted
  double mape = 0;   // of the model on the points it was fitted to, 0..1

  double loss_at(double k) const { return scale * schedule::loss_at(LossModel::kInverse, beta, k); }
};
// Throws Error for a curve whose depth is not known.
CurveModel fit_model(const Curve& curve);

// One line of the regression: log(quantity) = intercept + slope * log(depth) + offset of the
// device. The first device has an offset of 0. Errors are absent where there are no more curves
// than coefficients.
struct RegressionLine {
  struct Coefficient {
    double value = 0;
    std::optional<double> standard_error;
  };
  Coefficient intercept;
  Coefficient slope;
  std::vector<Coefficient> offsets;  // of the devices but the first
  double r_squared = 0;
};

struct LossRegression {
  static constexpr std::array<const char*, 4> kQuantities = {"b0", "b1", "b2", "largest loss"};
  std::vector<std::string> devices;  // sorted; one empty name where none is known
  std::array<RegressionLine, 4> lines;

  // Throws Error naming the known devices for another one.
  CurveModel predict(double depth, const std::string& device) const;
};
// Throws Error for fewer than two depths, and for curves that do not tell depth and device apart.
LossRegression fit_regression(std::span<const CurveModel> models);

// Mean of |predicted / real - 1| over the points of a real curve.
double curve_error(const CurveModel& predicted, const Curve& real);

// The loss at which networks of this depth reach an accuracy, from the curves that reach it: by a
// line of log(loss) over log(depth), or their geometric mean if they have one depth. No value if
// none does.
std::optional<double> loss_at_accuracy(std::span<const Curve> curves, double accuracy,
                                       double depth);
// The k from which on the model is at most `loss`; no value if its floor is above.
std::optional<double> k_at_loss(const CurveModel& model, double loss);

}  // namespace trainyard::schedule
