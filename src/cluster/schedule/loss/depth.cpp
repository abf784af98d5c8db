#include "cluster/schedule/loss/depth.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "cluster/schedule/loss/clean.h"

namespace trainyard::schedule {
namespace {

// Coefficients near 0 have no logarithm worth a line.
constexpr double kLeast = 1e-4;

std::array<double, 2> line_through(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double spread = n * sxx - sx * sx;
  const double slope = spread > 1e-12 ? (n * sxy - sx * sy) / spread : 0;
  return {(sy - slope * sx) / n, slope};
}

double on_line(const std::array<double, 2>& line, double depth) {
  return std::exp(line[0] + line[1] * std::log(depth));
}

}  // namespace

Beta DepthModel::beta(double depth) const {
  return {on_line(lines[0], depth), on_line(lines[1], depth), on_line(lines[2], depth)};
}

double DepthModel::scale(double depth) const {
  return on_line(lines[3], depth);
}

double DepthModel::loss_at(double depth, double k) const {
  return scale(depth) * schedule::loss_at(LossModel::kInverse, beta(depth), k);
}

DepthModel fit_depths(std::span<const Curve> curves) {
  std::set<double> depths;
  for (const Curve& one : curves) depths.insert(one.depth.value());
  TY_REQUIRE(depths.size() >= 2, "curves of {} depths, expected at least 2 to draw a line through",
             depths.size());
  std::vector<double> x;
  std::array<std::vector<double>, 4> y;
  for (const Curve& one : curves) {
    const CleanLoss clean = clean_losses(one.loss);
    // Without weights: a curve is to be described from its beginning, not continued.
    const LossFit fit = fit_loss(LossModel::kInverse, one.k, clean.loss, {});
    x.push_back(std::log(one.depth.value()));
    for (size_t c = 0; c < 3; ++c) y[c].push_back(std::log(std::max(kLeast, fit.beta[c])));
    y[3].push_back(std::log(clean.scale));
  }
  DepthModel model;
  for (size_t c = 0; c < 4; ++c) model.lines[c] = line_through(x, y[c]);
  model.depths.assign(depths.begin(), depths.end());
  return model;
}

std::vector<DepthError> leave_one_depth_out(std::span<const Curve> curves) {
  std::set<double> depths;
  for (const Curve& one : curves) depths.insert(one.depth.value());
  std::vector<DepthError> errors;
  if (depths.size() < 3) return errors;
  for (const double depth : depths) {
    std::vector<Curve> others;
    for (const Curve& one : curves) {
      if (one.depth != depth) others.push_back(one);
    }
    const DepthModel model = fit_depths(others);
    DepthError error{
        .depth = depth, .mape = 0, .inside = depth > *depths.begin() && depth < *depths.rbegin()};
    double points = 0;
    for (const Curve& one : curves) {
      if (one.depth != depth) continue;
      for (size_t i = 0; i < one.size(); ++i) {
        error.mape += std::fabs(model.loss_at(depth, one.k[i]) / one.loss[i] - 1);
        points += 1;
      }
    }
    error.mape /= points;
    errors.push_back(error);
  }
  return errors;
}

}  // namespace trainyard::schedule
