// How the coefficients of loss curves change with the depth of a network.
#pragma once

#include <span>
#include <vector>

#include "cluster/schedule/loss/curve.h"
#include "cluster/schedule/loss/fit.h"

namespace trainyard::schedule {

// log b0, log b1 and log b2 (and that of the scale) as straight lines of log depth.
struct DepthModel {
  std::array<std::array<double, 2>, 4> lines = {};
  std::vector<double> depths;  // that it was fitted to

  Beta beta(double depth) const;
  double scale(double depth) const;
  double loss_at(double depth, double k) const;
};

// Fits every curve (the first stage of one), whose depths have to be known, then the lines, several
// runs of one depth counting alike. Throws Error with fewer than two depths.
DepthModel fit_depths(std::span<const Curve> curves);

// Leaves out one depth after another and predicts its curves from the others.
struct DepthError {
  double depth = 0;
  double mape = 0;      // of the predicted curve against the real one, 0..1
  bool inside = false;  // there are smaller and larger depths: no extrapolation
};
std::vector<DepthError> leave_one_depth_out(std::span<const Curve> curves);

}  // namespace trainyard::schedule
