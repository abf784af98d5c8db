#include "cluster/predict/fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include "base/error.h"
#include "cluster/predict/catalog.h"

namespace trainyard::predict {
namespace {

using Vector = Eigen::VectorXd;
using Sparse = Eigen::SparseMatrix<double>;

// What a measured row is worth: differences of this size are noise.
constexpr double kRowNoise = 0.08;
// Errors beyond so many times the noise count by their size, not by its square.
constexpr double kOutlier = 2.0;
constexpr int kIterations = 60;
// Fits without a group start near their solution; a whole family may be far from what is left.
constexpr int kRefitIterations = 12;
constexpr double kTolerance = 1e-4;  // of the cost, in one iteration
constexpr double kDifference = 1e-4;
constexpr double kLongestStep = 3;  // of an effect, in standard deviations

bool has_direct(const NetworkProfile& profile) {
  return std::any_of(profile.ops.begin(), profile.ops.end(), [](const OpProfile& op) {
    return op.is_conv && op.groups > 1 && op.columns < 8;
  });
}

// The quantities that the time of a row can depend on; the others need no derivative.
std::vector<size_t> quantities_of(const FitRow& row) {
  const Stack& stack = *row.stack;
  const bool cpu = row.device->is_cpu();
  const bool matrix = uses_matrix_units(*row.device, stack, row.precision);
  const bool training = row.mode == Mode::kTraining;
  const std::map<std::string_view, bool> matters = {
      {"matrix", matrix && row.precision == Precision::kFp16},
      {"tf32", matrix && row.precision == Precision::kTf32},
      {"int8", row.precision == Precision::kInt8},
      {"fp64", row.precision == Precision::kFp64},
      {"half", !matrix && row.precision == Precision::kFp16},
      {"cache", row.device->cache_bytes > 0},
      {"gradient", training},
      {"winograd", stack.winograd && !matrix && row.precision != Precision::kFp64},
      {"fourier", stack.fourier && !matrix},
      {"direct", has_direct(*row.profile)},
      {"layout", matrix && !stack.channels_last},
      {"backward_launch", training},
      {"step_us", !cpu},
      {"kernel_us", !cpu || row.device->cores > 1},
      {"serial", cpu && row.device->cores > 1},
      {"copy", stack.copies_input}};
  std::vector<size_t> quantities;
  for (size_t field = 0; field < kFields; ++field) {
    const auto found = matters.find(efficiency_fields()[field].name);
    if (found == matters.end() || found->second) quantities.push_back(field);
  }
  quantities.insert(quantities.end(), {kCompute, kMemory, kHost});
  return quantities;
}

double log_seconds(const FitRow& row, const Quantities& quantities) {
  const Roofline roofline(*row.device, *row.stack, row.precision, figures_from(quantities));
  return std::log(predict_step(*row.profile, roofline, row.batch, row.mode, row.updates).total());
}

}  // namespace

double predicted_speed(const FitRow& row, const Stack& stack) {
  const Roofline roofline(*row.device, stack, row.precision);
  return row.batch / predict_step(*row.profile, roofline, row.batch, row.mode, row.updates).total();
}

// Gauss-Newton on effects in units of their freedom, so that every prior is a unit normal.
struct HierarchicalFit::Solver {
  Solver(std::span<const FitRow> given, Hierarchy& hierarchy) : rows(given.begin(), given.end()) {
    for (const FitRow& row : rows) {
      terms.push_back(hierarchy.terms(*row.stack, *row.device, row.precision));
      used.push_back(quantities_of(row));
      measured.push_back(std::log(row.batch / row.images_per_s));
    }
    effects = hierarchy.effects();
    u = Vector::Zero(static_cast<Eigen::Index>(effects.size()));
  }

  // The same fit to those rows alone that `keep` says, from a solution that is near.
  Solver(const Solver& whole, const Vector& start, const std::function<bool(size_t)>& keep)
      : effects(whole.effects), u(start) {
    for (size_t i = 0; i < whole.rows.size(); ++i) {
      if (!keep(i)) continue;
      rows.push_back(whole.rows[i]);
      terms.push_back(whole.terms[i]);
      used.push_back(whole.used[i]);
      measured.push_back(whole.measured[i]);
    }
    iterate(kRefitIterations);
  }

  double effect(size_t i, const Vector& at) const {
    return effects[i].prior + effects[i].freedom * at[static_cast<Eigen::Index>(i)];
  }

  Quantities quantities(size_t row, const Vector& at) const {
    Quantities q{};
    for (const Summand& term : terms[row])
      q[term.quantity] += term.weight * effect(term.effect, at);
    return q;
  }

  // In units of noise: log(predicted / measured seconds).
  double residual_at(size_t row, const Vector& at) const {
    return (log_seconds(rows[row], quantities(row, at)) - measured[row]) / kRowNoise;
  }

  Vector residuals(const Vector& at) const {
    Vector out(static_cast<Eigen::Index>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      out[static_cast<Eigen::Index>(i)] = residual_at(i, at);
    }
    return out;
  }

  Sparse jacobian(const Vector& at) const {
    std::vector<Eigen::Triplet<double>> entries;
    for (size_t i = 0; i < rows.size(); ++i) {
      Quantities q = quantities(i, at);
      const double base = log_seconds(rows[i], q);
      Quantities slope{};
      for (const size_t k : used[i]) {
        q[k] += kDifference;
        slope[k] = (log_seconds(rows[i], q) - base) / (kDifference * kRowNoise);
        q[k] -= kDifference;
      }
      for (const Summand& term : terms[i]) {
        const double derivative = slope[term.quantity] * term.weight * effects[term.effect].freedom;
        if (derivative != 0) {
          entries.emplace_back(static_cast<int>(i), static_cast<int>(term.effect), derivative);
        }
      }
    }
    Sparse matrix(static_cast<Eigen::Index>(rows.size()), u.size());
    matrix.setFromTriplets(entries.begin(), entries.end());
    return matrix;
  }

  static Vector weights(const Vector& residuals) {
    return residuals.unaryExpr(
        [](double r) { return std::fabs(r) < kOutlier ? 1.0 : kOutlier / std::fabs(r); });
  }

  static double cost(const Vector& residuals, const Vector& at) {
    const double rows = residuals
                            .unaryExpr([](double r) {
                              const double size = std::fabs(r);
                              return size < kOutlier ? r * r : kOutlier * (2 * size - kOutlier);
                            })
                            .sum();
    return rows + at.squaredNorm();
  }

  void factorize(const Sparse& j, const Vector& w) {
    Sparse priors(u.size(), u.size());
    priors.setIdentity();
    const Sparse normal = Sparse(j.transpose()) * w.asDiagonal() * j + priors;
    factor.compute(normal);
    TY_CHECK(factor.info() == Eigen::Success, "the normal equations have no factors");
  }

  // Returns the residuals at the end.
  Vector iterate(int iterations) {
    Vector r = residuals(u);
    for (int iteration = 0; iteration < iterations; ++iteration) {
      const Sparse j = jacobian(u);
      const Vector w = weights(r);
      factorize(j, w);
      const Vector gradient = j.transpose() * w.cwiseProduct(r) + u;
      const Vector step = (-factor.solve(gradient)).cwiseMax(-kLongestStep).cwiseMin(kLongestStep);
      const double before = cost(r, u);
      double after = before;
      for (double length = 1; length > 0.02; length /= 2) {
        const Vector next = u + length * step;
        const Vector next_r = residuals(next);
        after = cost(next_r, next);
        if (after < before) {
          u = next;
          r = next_r;
          break;
        }
      }
      if (before - after < kTolerance * before) break;
    }
    return r;
  }

  void solve() {
    residual = iterate(kIterations);
    slopes = jacobian(u);
    weight = weights(residual);
    factorize(slopes, weight);
  }

  // The variance of a sum of effects, after the fit.
  double variance(const std::vector<Summand>& sum) const {
    Vector a = Vector::Zero(u.size());
    for (const Summand& term : sum) {
      if (static_cast<Eigen::Index>(term.effect) < u.size()) {
        a[static_cast<Eigen::Index>(term.effect)] += term.weight * effects[term.effect].freedom;
      }
    }
    return a.dot(factor.solve(a));
  }

  std::vector<FitRow> rows;
  std::vector<std::vector<Summand>> terms;
  std::vector<std::vector<size_t>> used;
  std::vector<double> measured;
  std::vector<Effect> effects;
  Vector u;

  Sparse slopes;
  Vector residual;
  Vector weight;
  Eigen::SimplicialLDLT<Sparse> factor;
};

HierarchicalFit::HierarchicalFit(std::span<const FitRow> rows, Hierarchy::Start start)
    : hierarchy_(start), solver_(std::make_unique<Solver>(rows, hierarchy_)) {
  if (!rows.empty()) solver_->solve();
}

HierarchicalFit::~HierarchicalFit() = default;

std::vector<double> HierarchicalFit::errors() const {
  std::vector<double> out;
  for (const double r : solver_->residual) out.push_back(-r * kRowNoise);
  return out;
}

// The fit without some of its rows, were it linear around its solution.
struct HierarchicalFit::Without {
  Without(const Solver& solver, const std::vector<size_t>& rows) {
    const auto n = static_cast<Eigen::Index>(rows.size());
    const Eigen::SparseMatrix<double, Eigen::RowMajor> slopes = solver.slopes;
    Eigen::MatrixXd columns(slopes.cols(), n);
    Vector r(n);
    Vector w(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto row = static_cast<Eigen::Index>(rows[static_cast<size_t>(i)]);
      columns.col(i) = Vector(slopes.row(row).transpose());
      r[i] = solver.residual[row];
      w[i] = solver.weight[row];
    }
    const Eigen::MatrixXd solved = solver.factor.solve(columns);
    // What the rows add to their own predictions, taken away again.
    const Eigen::MatrixXd own = columns.transpose() * solved;
    const Eigen::MatrixXd rest = Eigen::MatrixXd::Identity(n, n) - w.asDiagonal() * own;
    const Vector pull = rest.partialPivLu().solve(w.cwiseProduct(r));
    u = solver.u + (solved * pull).cwiseMax(-kLongestStep).cwiseMin(kLongestStep);
  }

  Vector u;
};

namespace {

std::map<int, std::vector<size_t>> members_of(std::span<const int> group) {
  std::map<int, std::vector<size_t>> members;
  for (size_t i = 0; i < group.size(); ++i) members[group[i]].push_back(i);
  return members;
}

}  // namespace

std::vector<double> HierarchicalFit::errors_left_out(std::span<const int> group) const {
  std::vector<double> out(group.size());
  for (const auto& [id, rows] : members_of(group)) {
    const Without rest(*solver_, rows);
    // The model itself at that solution: without a stack's only rows the line through it leads far
    // beyond what the stack's figures can do.
    for (const size_t row : rows) out[row] = -solver_->residual_at(row, rest.u) * kRowNoise;
  }
  return out;
}

std::vector<double> HierarchicalFit::errors_refitted(std::span<const int> group) const {
  std::vector<double> out(group.size());
  for (const auto& [id, rows] : members_of(group)) {
    const Vector start = Without(*solver_, rows).u;
    // GPUs and CPUs have no effects in common. Together, the many GPUs would decide how far each
    // step goes and when to stop.
    for (const bool cpu : {false, true}) {
      const auto alike = [&](size_t row) { return solver_->rows[row].device->is_cpu() == cpu; };
      if (std::none_of(rows.begin(), rows.end(), alike)) continue;
      const Solver rest(*solver_, start,
                        [&, left = id](size_t row) { return group[row] != left && alike(row); });
      for (const size_t row : rows) {
        if (alike(row)) out[row] = -solver_->residual_at(row, rest.u) * kRowNoise;
      }
    }
  }
  return out;
}

double HierarchicalFit::value(const Summand& term) const {
  // Effects that were first asked for after the fit have no rows: they are what the prior says.
  const auto i = static_cast<Eigen::Index>(term.effect);
  const double u = i < solver_->u.size() ? solver_->u[i] : 0;
  const Effect& effect = hierarchy_.effects()[term.effect];
  return effect.prior + effect.freedom * u;
}

Efficiency HierarchicalFit::efficiency(const Stack& stack, std::string_view device_class) {
  Efficiency out;
  for (size_t field = 0; field < kFields; ++field) {
    double sum = 0;
    for (const Summand& term : hierarchy_.field_terms(stack, device_class, field)) {
      sum += term.weight * value(term);
    }
    out.*efficiency_fields()[field].value = figure_from(field, sum);
  }
  return out;
}

HierarchicalFit::FitUncertainty HierarchicalFit::certainty(const Stack& stack,
                                                           std::string_view device_class,
                                                           size_t field) {
  const std::vector<Summand> terms = hierarchy_.field_terms(stack, device_class, field);
  double prior = 0;
  double beyond = 0;  // of effects without rows
  for (const Summand& term : terms) {
    const double freedom = term.weight * hierarchy_.effects()[term.effect].freedom;
    prior += freedom * freedom;
    if (static_cast<Eigen::Index>(term.effect) >= solver_->u.size()) beyond += freedom * freedom;
  }
  const double variance = solver_->variance(terms) + beyond;
  return {std::sqrt(variance), 1 - variance / prior};
}

double HierarchicalFit::kind_factor(const Device& device, size_t quantity) {
  return std::exp(value(hierarchy_.kind_term(device, quantity)));
}

double HierarchicalFit::device_factor(const Device& device, size_t quantity) {
  return std::exp(value(hierarchy_.device_term(device, quantity)));
}

double HierarchicalFit::pair_factor(const Stack& stack, const Device& device, size_t quantity) {
  return std::exp(value(hierarchy_.pair_term(stack, device, quantity)));
}

double HierarchicalFit::throttle(bool matrix_units) {
  return value(hierarchy_.throttle_term(Device{}, matrix_units));
}

double HierarchicalFit::feeding() {
  return value(hierarchy_.feeding_term(Device{}));
}

}  // namespace trainyard::predict
