#include "cluster/predict/measured_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::predict {
namespace {

constexpr size_t kColumns = kFamilies * kPasses * kAmounts;
// Shorter times are mostly the clock's and the scheduler's.
constexpr double kShortest = 20e-6;
// Relative errors beyond this count by their size, not by its square.
constexpr double kLinearBeyond = 0.15;
constexpr int kReweightings = 6;
constexpr int kSweeps = 400;
// Keeps rates that the samples cannot tell apart from running away; small beside one sample.
constexpr double kRidge = 1e-6;

size_t first_column(const Term& term) {
  return (static_cast<size_t>(term.family) * kPasses + static_cast<size_t>(term.pass)) * kAmounts;
}

// A sample's amounts by column, the columns that are not zero only.
struct SparseRow {
  std::vector<std::pair<size_t, double>> entries;
  double seconds = 0;
  double weight = 1;
};

double predicted(const SparseRow& row, const std::vector<double>& rates) {
  double sum = 0;
  for (const auto& [column, amount] : row.entries) sum += rates[column] * amount;
  return sum;
}

// Least squares with rates of at least 0, by cyclic coordinate descent over the residuals.
class NonNegative {
 public:
  explicit NonNegative(std::vector<SparseRow> rows) : rows_(std::move(rows)), by_column_(kColumns) {
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (const auto& [column, amount] : rows_[r].entries) {
        by_column_[column].emplace_back(r, amount);
      }
    }
    find_ceilings();
  }

  void solve(std::vector<double>& rates) const {
    std::vector<double> residuals(rows_.size());
    for (size_t r = 0; r < rows_.size(); ++r) {
      residuals[r] = rows_[r].seconds - predicted(rows_[r], rates);
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (size_t column = 0; column < kColumns; ++column) update(column, rates, residuals);
    }
  }

  std::vector<SparseRow>& rows() { return rows_; }
  bool seen(size_t column) const { return !by_column_[column].empty(); }

 private:
  void update(size_t column, std::vector<double>& rates, std::vector<double>& residuals) const {
    double slope = 0;
    double curvature = 0;
    for (const auto& [r, amount] : by_column_[column]) {
      const double scaled = amount * rows_[r].weight;
      slope += scaled * residuals[r] * rows_[r].weight;
      curvature += scaled * scaled;
    }
    if (curvature == 0) return;
    curvature *= 1 + kRidge;
    const double old = rates[column];
    rates[column] = std::clamp(old + slope / curvature, 0.0, ceilings_[column]);
    const double change = rates[column] - old;
    if (change == 0) return;
    for (const auto& [r, amount] : by_column_[column]) residuals[r] -= change * amount;
  }

  // No kernel takes longer to start than the shortest of its samples took as a whole. Without this
  // limit large operators of nearly one size are met by a constant, which small ones then pay too.
  void find_ceilings() {
    for (size_t column = 0; column < kColumns; ++column) {
      if (column % kAmounts != static_cast<size_t>(Amount::kKernels)) continue;
      for (const auto& [r, kernels] : by_column_[column]) {
        const double whole = std::max(rows_[r].seconds, kShortest);
        ceilings_[column] = std::min(ceilings_[column], whole / kernels);
      }
    }
  }

  std::vector<SparseRow> rows_;
  std::vector<std::vector<std::pair<size_t, double>>> by_column_;
  std::vector<double> ceilings_ =
      std::vector<double>(kColumns, std::numeric_limits<double>::infinity());
};

SparseRow sparse(const MeasuredSample& sample, double cache_bytes) {
  SparseRow row;
  row.seconds = sample.seconds;
  for (const Term& term : sample.terms) {
    const Amounts amounts = term.amounts(cache_bytes);
    for (size_t i = 0; i < kAmounts; ++i) {
      if (amounts[i] > 0) row.entries.emplace_back(first_column(term) + i, amounts[i]);
    }
  }
  return row;
}

// Bytes that no sample had move at memory speed; far ones not faster than that.
void fill_unseen(const NonNegative& problem, double bytes_per_s, std::vector<double>& rates) {
  constexpr size_t kGradientsOnly = static_cast<size_t>(Family::kBias) * kPasses * kAmounts;
  for (size_t first = 0; first < kGradientsOnly; first += kAmounts) {
    if (first / kAmounts % kPasses == static_cast<size_t>(Pass::kWeights)) continue;
    double& bytes = rates[first + static_cast<size_t>(Amount::kBytes)];
    const size_t far = first + static_cast<size_t>(Amount::kFar);
    if (!problem.seen(first + static_cast<size_t>(Amount::kBytes))) {
      bytes = 1 / bytes_per_s;
    } else if (!problem.seen(far) && bytes > 0) {
      rates[far] = std::max(0.0, 1 / bytes_per_s - bytes);
    }
  }
}

// What is left unexplained, as the fit counts it.
double loss(const std::vector<SparseRow>& rows, const std::vector<double>& rates) {
  double sum = 0;
  for (const SparseRow& row : rows) {
    const double error =
        std::fabs(predicted(row, rates) - row.seconds) / std::max(row.seconds, kShortest);
    sum += error > kLinearBeyond ? kLinearBeyond * (2 * error - kLinearBeyond) : error * error;
  }
  return sum;
}

struct Fit {
  std::vector<double> rates;
  double loss = 0;
};

Fit fit_with_cache(std::span<const MeasuredSample> samples, double cache_bytes,
                   double bytes_per_s) {
  std::vector<SparseRow> rows;
  for (const MeasuredSample& sample : samples) rows.push_back(sparse(sample, cache_bytes));
  NonNegative problem(std::move(rows));
  std::vector<double> rates(kColumns, 0.0);
  for (int round = 0; round < kReweightings; ++round) {
    for (SparseRow& row : problem.rows()) {
      const double scale = std::max(row.seconds, kShortest);
      const double error = round == 0 ? 0 : std::fabs(predicted(row, rates) - row.seconds) / scale;
      row.weight = std::sqrt(error > kLinearBeyond ? kLinearBeyond / error : 1.0) / scale;
    }
    problem.solve(rates);
  }
  const double left = loss(problem.rows(), rates);
  fill_unseen(problem, bytes_per_s, rates);
  return {std::move(rates), left};
}

}  // namespace

MeasuredCosts fit_costs(std::span<const MeasuredSample> samples, double bytes_per_s) {
  MeasuredCosts costs;
  Fit best;
  for (double megabytes = 1; megabytes <= 64; megabytes *= 2) {
    const double cache_bytes = megabytes * 1e6;
    Fit fit = fit_with_cache(samples, cache_bytes, bytes_per_s);
    if (costs.cache_bytes > 0 && fit.loss >= best.loss) continue;
    costs.cache_bytes = cache_bytes;
    best = std::move(fit);
  }
  size_t column = 0;
  for (auto& family : costs.seconds) {
    for (Amounts& pass : family) {
      for (double& rate : pass) rate = best.rates[column++];
    }
  }
  return costs;
}

FamilyError family_error(std::span<const MeasuredSample> samples, const MeasuredCosts& costs,
                         Family family, Pass pass) {
  FamilyError out;
  double seconds = 0;
  for (const MeasuredSample& sample : samples) {
    if (sample.terms.empty() || sample.seconds <= 0) continue;
    const Term& main = sample.terms.front();
    if (main.family != family || main.pass != pass) continue;
    double sum = 0;
    for (const Term& term : sample.terms) sum += costs.time(term);
    out.error += std::fabs(sum - sample.seconds);
    seconds += sample.seconds;
    ++out.samples;
  }
  if (seconds > 0) out.error /= seconds;
  return out;
}

}  // namespace trainyard::predict
