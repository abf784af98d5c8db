#include "cluster/schedule/policies/gavel_lp.h"

#include <algorithm>
#include <coin/Clp_C_Interface.h>
#include <limits>
#include <memory>

#include "base/error.h"

namespace trainyard::schedule {
namespace {

// As CLP spells a bound that is none.
constexpr double kUnbounded = std::numeric_limits<double>::max();

struct DeleteModel {
  void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
};

// A sparse matrix by columns, as CLP takes it.
struct Columns {
  std::vector<CoinBigIndex> start = {0};
  std::vector<int> row;
  std::vector<double> value;

  void add(size_t r, double v) {
    row.push_back(static_cast<int>(r));
    value.push_back(v);
  }
  void end_column() { start.push_back(static_cast<CoinBigIndex>(row.size())); }
};

// One column for the share of each job on each type, and a last one for z. Rows: what each job
// reaches, the time of each job, the devices of each type.
Columns columns_of(const GavelProblem& problem, const std::vector<double>& need) {
  const size_t jobs = problem.throughput.size();
  const size_t types = problem.devices.size();
  Columns columns;
  std::vector<double> best;
  for (size_t m = 0; m < jobs; ++m) {
    // In units of the job's best throughput, so that the rows are of one size.
    best.push_back(*std::max_element(problem.throughput[m].begin(), problem.throughput[m].end()));
    for (size_t j = 0; j < types; ++j) {
      if (problem.throughput[m][j] > 0) columns.add(m, problem.throughput[m][j] / best[m]);
      columns.add(jobs + m, 1);
      columns.add(2 * jobs + j, problem.scale[m]);
      columns.end_column();
    }
  }
  for (size_t m = 0; m < jobs; ++m) columns.add(m, -need[m] / best[m]);
  columns.end_column();
  return columns;
}

// Maximizes z such that every job's throughput is at least need * z.
GavelShares maximize(const GavelProblem& problem, const std::vector<double>& need) {
  const size_t jobs = problem.throughput.size();
  const size_t types = problem.devices.size();
  const size_t z = jobs * types;
  const Columns columns = columns_of(problem, need);
  std::vector<double> lower(2 * jobs + types, -kUnbounded);
  std::vector<double> upper(lower.size(), kUnbounded);
  std::fill_n(lower.begin(), jobs, 0.0);
  std::fill_n(upper.begin() + static_cast<ptrdiff_t>(jobs), jobs, 1.0);
  std::copy(problem.devices.begin(), problem.devices.end(),
            upper.begin() + static_cast<ptrdiff_t>(2 * jobs));
  std::vector<double> objective(z + 1, 0.0);
  objective[z] = 1;

  const std::unique_ptr<Clp_Simplex, DeleteModel> model(Clp_newModel());
  // It would write to stdout, which belongs to results.
  Clp_setLogLevel(model.get(), 0);
  // No bounds of columns: from 0 upwards.
  Clp_loadProblem(model.get(), static_cast<int>(z + 1), static_cast<int>(lower.size()),
                  columns.start.data(), columns.row.data(), columns.value.data(), nullptr, nullptr,
                  objective.data(), lower.data(), upper.data());
  Clp_setOptimizationDirection(model.get(), -1);
  // Shares of 0 are feasible, so the primal method needs no first phase.
  Clp_primal(model.get(), 0);
  TY_CHECK(Clp_status(model.get()) == 0, "CLP: status {}", Clp_status(model.get()));
  const double* solution = Clp_primalColumnSolution(model.get());
  GavelShares shares;
  shares.objective = solution[z];
  shares.share.assign(jobs, std::vector<double>(types));
  for (size_t m = 0; m < jobs; ++m) {
    for (size_t j = 0; j < types; ++j) {
      shares.share[m][j] = std::max(0.0, solution[m * types + j]);
    }
  }
  return shares;
}

}  // namespace

std::vector<double> proportional_throughput(const GavelProblem& problem) {
  double devices = 0;
  for (const double count : problem.devices) devices += count;
  std::vector<double> throughput;
  for (const std::vector<double>& row : problem.throughput) {
    double sum = 0;
    for (size_t j = 0; j < row.size(); ++j) sum += row[j] * problem.devices[j] / devices;
    throughput.push_back(sum);
  }
  return throughput;
}

GavelShares max_min_fairness(const GavelProblem& problem, const std::vector<double>& weights) {
  std::vector<double> need = proportional_throughput(problem);
  for (size_t m = 0; m < need.size(); ++m) need[m] *= weights[m] / problem.scale[m];
  return maximize(problem, need);
}

GavelShares min_makespan(const GavelProblem& problem, const std::vector<double>& steps) {
  GavelShares shares = maximize(problem, steps);
  shares.objective = 1 / shares.objective;
  return shares;
}

GavelShares finish_time_fairness(const GavelProblem& problem, const std::vector<double>& steps,
                                 const std::vector<double>& elapsed,
                                 const std::vector<double>& alone) {
  // For a given ratio every job needs a certain throughput; whether that can be had is one program,
  // and the least ratio for which it can is found by halving.
  const auto with = [&](double ratio) {
    std::vector<double> need(steps.size());
    for (size_t m = 0; m < need.size(); ++m) {
      need[m] = steps[m] / std::max(1e-9, ratio * alone[m] - elapsed[m]);
    }
    return maximize(problem, need);
  };
  double low = 0;
  for (size_t m = 0; m < steps.size(); ++m) low = std::max(low, elapsed[m] / alone[m]);
  double high = std::max(1.0, 2 * low);
  while (with(high).objective < 1) high *= 2;
  for (int i = 0; i < 50 && high - low > 1e-10 * high; ++i) {
    const double middle = (low + high) / 2;
    (with(middle).objective >= 1 ? high : low) = middle;
  }
  GavelShares shares = with(high);
  shares.objective = high;
  return shares;
}

}  // namespace trainyard::schedule
