#include "cluster/schedule/loss/regression.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <Eigen/Dense>

#include "base/error.h"
#include "base/text.h"
#include "cluster/schedule/loss/clean.h"

namespace trainyard::schedule {
namespace {

// Coefficients near 0 have no logarithm worth a line.
constexpr double kLeastCoefficient = 1e-4;

// A row per curve: 1, log(depth), and a 1 in the column of its device unless that is the first.
Eigen::MatrixXd regressors(std::span<const CurveModel> models,
                           const std::vector<std::string>& devices) {
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(models.size()),
                                            static_cast<Eigen::Index>(devices.size() + 1));
  for (size_t i = 0; i < models.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    x(row, 0) = 1;
    x(row, 1) = std::log(models[i].depth);
    const auto device = std::find(devices.begin(), devices.end(), models[i].device);
    if (device != devices.begin()) x(row, 1 + (device - devices.begin())) = 1;
  }
  return x;
}

double quantity(const CurveModel& model, size_t which) {
  return std::max(kLeastCoefficient, which < 3 ? model.beta[which] : model.scale);
}

RegressionLine line_of(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
  const Eigen::VectorXd solution = x.colPivHouseholderQr().solve(y);
  const double left = (x * solution - y).squaredNorm();
  const double all = (y.array() - y.mean()).square().sum();
  const Eigen::Index spare = x.rows() - x.cols();
  const Eigen::MatrixXd inverse = (x.transpose() * x).inverse();
  const auto coefficient = [&](Eigen::Index c) {
    RegressionLine::Coefficient one{.value = solution[c], .standard_error = std::nullopt};
    if (spare > 0) {
      one.standard_error = std::sqrt(left / static_cast<double>(spare) * inverse(c, c));
    }
    return one;
  };
  RegressionLine line{.intercept = coefficient(0), .slope = coefficient(1), .offsets = {}};
  for (Eigen::Index c = 2; c < x.cols(); ++c) line.offsets.push_back(coefficient(c));
  // All equal: there is nothing to explain.
  line.r_squared = all > 1e-18 ? 1 - left / all : 1;
  return line;
}

double value_at(const RegressionLine& line, double depth, size_t device) {
  const double offset = device == 0 ? 0 : line.offsets[device - 1].value;
  return std::exp(line.intercept.value + line.slope.value * std::log(depth) + offset);
}

}  // namespace

CurveModel fit_model(const Curve& curve) {
  TY_REQUIRE(
      curve.depth,
      "the depth of {} is not known; give a CSV file a column 'depth', or name it behind the "
      "curve, as {}@depth=20",
      curve.name, curve.name);
  const CleanLoss clean = clean_losses(curve.loss);
  const LossFit fit = fit_loss(LossModel::kInverse, curve.k, clean.loss, {});
  CurveModel model{.name = curve.name,
                   .depth = *curve.depth,
                   .device = curve.device,
                   .points = curve.size(),
                   .beta = fit.beta,
                   .standard_error = fit.standard_error,
                   .scale = clean.scale};
  model.mape = curve_error(model, curve);
  return model;
}

CurveModel LossRegression::predict(double depth, const std::string& device) const {
  const auto found = std::find(devices.begin(), devices.end(), device);
  TY_REQUIRE(found != devices.end(), "no curve was trained on device '{}', only on {}", device,
             join(devices, ", "));
  const auto at = static_cast<size_t>(found - devices.begin());
  CurveModel model{.name = fmt::format("depth {:g}{}{}", depth, device.empty() ? "" : ", ", device),
                   .depth = depth,
                   .device = device};
  for (size_t c = 0; c < 3; ++c) model.beta[c] = value_at(lines[c], depth, at);
  model.scale = value_at(lines[3], depth, at);
  return model;
}

LossRegression fit_regression(std::span<const CurveModel> models) {
  std::set<double> depths;
  std::set<std::string> devices;
  for (const CurveModel& model : models) {
    depths.insert(model.depth);
    devices.insert(model.device);
  }
  TY_REQUIRE(depths.size() >= 2,
             "depths of the curves: {}, expected at least 2 to draw a line through", depths.size());
  LossRegression made;
  made.devices.assign(devices.begin(), devices.end());
  const Eigen::MatrixXd x = regressors(models, made.devices);
  TY_REQUIRE(
      x.colPivHouseholderQr().rank() == x.cols(),
      "the curves do not tell depth and device apart: give at least one depth on two devices "
      "for each device");
  for (size_t c = 0; c < made.lines.size(); ++c) {
    Eigen::VectorXd y(static_cast<Eigen::Index>(models.size()));
    for (size_t i = 0; i < models.size(); ++i) {
      y[static_cast<Eigen::Index>(i)] = std::log(quantity(models[i], c));
    }
    made.lines[c] = line_of(x, y);
  }
  return made;
}

double curve_error(const CurveModel& predicted, const Curve& real) {
  double sum = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    sum += std::fabs(predicted.loss_at(real.k[i]) / real.loss[i] - 1);
  }
  return sum / static_cast<double>(real.size());
}

std::optional<double> loss_at_accuracy(std::span<const Curve> curves, double accuracy,
                                       double depth) {
  std::vector<CurveModel> reached;
  for (const Curve& curve : curves) {
    for (size_t i = 0; i < curve.accuracy.size(); ++i) {
      if (!(curve.accuracy[i] >= accuracy)) continue;
      reached.push_back({.name = curve.name, .depth = curve.depth.value(), .scale = curve.loss[i]});
      break;
    }
  }
  if (reached.empty()) return std::nullopt;
  double mean = 0;
  for (const CurveModel& one : reached) mean += std::log(one.scale);
  const bool one_depth = std::all_of(reached.begin(), reached.end(), [&](const CurveModel& one) {
    return one.depth == reached[0].depth;
  });
  if (one_depth) return std::exp(mean / static_cast<double>(reached.size()));
  return fit_regression(reached).predict(depth, "").scale;
}

std::optional<double> k_at_loss(const CurveModel& model, double loss) {
  const double above = loss / model.scale - model.beta[2];
  if (above <= 0 || model.beta[0] <= 0) return std::nullopt;
  return std::max(0.0, (1 / above - model.beta[1]) / model.beta[0]);
}

}  // namespace trainyard::schedule
