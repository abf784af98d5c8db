#include "cluster/schedule/loss/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "base/error.h"

namespace trainyard::schedule {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"inverse", "power", "exponential"};
constexpr std::array<std::string_view, 3> kFormulas = {"1/(b0 k + b1) + b2", "b0 (k + 1)^-b1 + b2",
                                                       "b0 exp(-b1 k) + b2"};
// Keeps 1 / (b0 k + b1) finite while the solver tries things.
constexpr double kSmallest = 1e-9;

// d loss / d beta.
Beta gradient(LossModel model, const Beta& b, double k) {
  switch (model) {
    case LossModel::kInverse: {
      const double inverse = 1 / std::max(kSmallest, b[0] * k + b[1]);
      return {-k * inverse * inverse, -inverse * inverse, 1};
    }
    case LossModel::kPower: {
      const double power = std::pow(k + 1, -b[1]);
      return {power, -b[0] * std::log(k + 1) * power, 1};
    }
    case LossModel::kExponential:
      break;
  }
  const double power = std::exp(-b[1] * k);
  return {power, -b[0] * k * power, 1};
}

struct Points {
  LossModel model;
  std::span<const double> k;
  std::span<const double> loss;
  std::span<const double> weights;

  double weight(size_t i) const { return weights.empty() ? 1 : weights[i]; }
  double sse(const Beta& beta) const {
    double sum = 0;
    for (size_t i = 0; i < k.size(); ++i) {
      const double residual = weight(i) * (loss_at(model, beta, k[i]) - loss[i]);
      sum += residual * residual;
    }
    return sum;
  }
};

// Residuals and their slopes at `beta`. A step solves the damped problem by QR rather than by
// normal equations, which would square the condition of slopes that differ by the length of the
// curve.
struct Linearized {
  Eigen::VectorXd residuals;
  Eigen::Matrix<double, Eigen::Dynamic, 3> slopes;

  Linearized(const Points& points, const Beta& beta)
      : residuals(static_cast<Eigen::Index>(points.k.size())),
        slopes(static_cast<Eigen::Index>(points.k.size()), 3) {
    for (size_t i = 0; i < points.k.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      const double weight = points.weight(i);
      const Beta slope = gradient(points.model, beta, points.k[i]);
      residuals[row] = weight * (loss_at(points.model, beta, points.k[i]) - points.loss[i]);
      for (int c = 0; c < 3; ++c) slopes(row, c) = weight * slope[static_cast<size_t>(c)];
    }
  }

  // The step of Levenberg and Marquardt for the coefficients that are free; 0 for the others.
  Beta step(const std::array<bool, 3>& free, double damping) const {
    const Eigen::Index n = residuals.size();
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(n + 3, 3);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n + 3);
    right.head(n) = -residuals;
    for (int c = 0; c < 3; ++c) {
      const double norm = slopes.col(c).norm();
      const bool moves = free[static_cast<size_t>(c)] && norm > 0;
      if (moves) matrix.col(c).head(n) = slopes.col(c) / norm;
      // A column of one entry keeps a coefficient where it is.
      matrix(n + c, c) = moves ? std::sqrt(damping) : 1;
    }
    const Eigen::Vector3d scaled = matrix.householderQr().solve(right);
    Beta step = {};
    for (int c = 0; c < 3; ++c) {
      const double norm = slopes.col(c).norm();
      if (free[static_cast<size_t>(c)] && norm > 0) step[static_cast<size_t>(c)] = scaled[c] / norm;
    }
    return step;
  }
};

// Least squares with coefficients that are not negative: a coefficient at 0 whose slope would push
// it below stays there for this step, and a step that leads below 0 ends at 0.
Beta solve(const Points& points, Beta beta, bool without_floor) {
  constexpr int kSteps = 400;
  constexpr double kLargestDamping = 1e16;
  constexpr double kSmallestChange = 1e-14;
  if (without_floor) beta[2] = 0;
  double sse = points.sse(beta);
  double damping = 1e-4;
  for (int i = 0; i < kSteps && damping < kLargestDamping; ++i) {
    const Linearized here(points, beta);
    const Eigen::Vector3d slope = here.slopes.transpose() * here.residuals;
    std::array<bool, 3> free = {true, true, !without_floor};
    for (size_t c = 0; c < 3; ++c) {
      if (beta[c] <= 0 && slope[static_cast<int>(c)] > 0) free[c] = false;
    }
    bool better = false;
    double change = 0;
    while (!better && damping < kLargestDamping) {
      const Beta step = here.step(free, damping);
      Beta next = beta;
      for (size_t c = 0; c < 3; ++c) next[c] = std::max(0.0, beta[c] + step[c]);
      const double next_sse = points.sse(next);
      better = next_sse < sse;
      damping *= better ? 0.3 : 4;
      if (!better) continue;
      for (size_t c = 0; c < 3; ++c) {
        change = std::max(change, std::abs(next[c] - beta[c]) / std::max(next[c], 1e-12));
      }
      beta = next;
      sse = next_sse;
    }
    if (change < kSmallestChange) break;
  }
  return beta;
}

// The line through transformed points for a given floor: 1 / (l - floor), or log(l - floor) over
// log k or k. Rough, but near enough for the solver to find the valley.
Beta start_for(const Points& points, double floor) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto n = static_cast<double>(points.k.size());
  for (size_t i = 0; i < points.k.size(); ++i) {
    const double above = std::max(1e-6, points.loss[i] - floor);
    const double x = points.model == LossModel::kPower ? std::log(points.k[i] + 1) : points.k[i];
    const double y = points.model == LossModel::kInverse ? 1 / above : std::log(above);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = n * sxx - sx * sx;
  const double slope = spread > 0 ? (n * sxy - sx * sy) / spread : 0;
  const double base = (sy - slope * sx) / n;
  if (points.model == LossModel::kInverse) {
    return {std::max(slope, 1e-6), std::max(base, 1e-3), floor};
  }
  return {std::exp(base), std::max(-slope, 1e-6), floor};
}

// s^2 (J'J)^-1 of the coefficients that are not at their bound; rows and columns of the others are
// 0.
Eigen::Matrix3d covariance(const LossFit& fit, std::span<const double> k,
                           std::span<const double> weights) {
  std::vector<int> free;
  for (size_t c = 0; c < 3; ++c) {
    if (fit.beta[c] > 1e-12) free.push_back(static_cast<int>(c));
  }
  const auto size = static_cast<Eigen::Index>(free.size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
  for (size_t i = 0; i < k.size(); ++i) {
    const Beta slope = gradient(fit.model, fit.beta, k[i]);
    const double weight = weights.empty() ? 1 : weights[i];
    for (Eigen::Index a = 0; a < size; ++a) {
      for (Eigen::Index b = 0; b < size; ++b) {
        normal(a, b) += weight * weight * slope[static_cast<size_t>(free[static_cast<size_t>(a)])] *
                        slope[static_cast<size_t>(free[static_cast<size_t>(b)])];
      }
    }
  }
  const Eigen::MatrixXd inverse = normal.completeOrthogonalDecomposition().pseudoInverse();
  Eigen::Matrix3d all = Eigen::Matrix3d::Zero();
  for (Eigen::Index a = 0; a < size; ++a) {
    for (Eigen::Index b = 0; b < size; ++b) {
      all(free[static_cast<size_t>(a)], free[static_cast<size_t>(b)]) =
          fit.deviation * fit.deviation * inverse(a, b);
    }
  }
  return all;
}

}  // namespace

std::string_view loss_model_name(LossModel model) {
  return kNames[static_cast<size_t>(model)];
}

std::string_view loss_model_formula(LossModel model) {
  return kFormulas[static_cast<size_t>(model)];
}

double loss_at(LossModel model, const Beta& beta, double k) {
  switch (model) {
    case LossModel::kInverse:
      return 1 / std::max(kSmallest, beta[0] * k + beta[1]) + beta[2];
    case LossModel::kPower:
      return beta[0] * std::pow(k + 1, -beta[1]) + beta[2];
    case LossModel::kExponential:
      break;
  }
  return beta[0] * std::exp(-beta[1] * k) + beta[2];
}

LossFit fit_loss(LossModel model, std::span<const double> k, std::span<const double> loss,
                 std::span<const double> weights) {
  TY_CHECK(k.size() == loss.size() && k.size() >= 3, "{} points", k.size());
  const Points points{model, k, loss, weights};
  const double lowest = *std::min_element(loss.begin(), loss.end());
  LossFit fit{.model = model};
  double best = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Beta& beta) {
    const double sse = points.sse(beta);
    if (sse < best) {
      best = sse;
      fit.beta = beta;
    }
  };
  for (const double share : {0.0, 0.5, 0.9, 0.99}) {
    consider(solve(points, start_for(points, share * lowest), false));
  }
  consider(solve(points, start_for(points, 0), true));
  fit.sse = best;
  fit.deviation = std::sqrt(best / static_cast<double>(std::max<size_t>(1, k.size() - 3)));
  const Eigen::Matrix3d errors = covariance(fit, k, weights);
  for (int c = 0; c < 3; ++c) {
    fit.standard_error[static_cast<size_t>(c)] = std::sqrt(std::max(0.0, errors(c, c)));
  }
  return fit;
}

double band_at(const LossFit& fit, double k, std::span<const double> points_k,
               std::span<const double> weights) {
  const Eigen::Matrix3d errors = covariance(fit, points_k, weights);
  const Beta slope = gradient(fit.model, fit.beta, k);
  const Eigen::Vector3d g(slope[0], slope[1], slope[2]);
  return 1.96 * std::sqrt(std::max(0.0, g.dot(errors * g)));
}

}  // namespace trainyard::schedule
