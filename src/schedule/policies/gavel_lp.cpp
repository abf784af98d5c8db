#include "schedule/policies/gavel_lp.h"

#include <algorithm>
#include <glpk.h>
#include <memory>

#include "base/error.h"

namespace trainyard::schedule {
namespace {

struct DeleteProblem {
  void operator()(glp_prob* problem) const { glp_delete_prob(problem); }
};

// Rows of a sparse matrix as GLPK takes them, counted from 1.
struct Entries {
  std::vector<int> row = {0};
  std::vector<int> column = {0};
  std::vector<double> value = {0};

  void add(size_t r, size_t c, double v) {
    row.push_back(static_cast<int>(r));
    column.push_back(static_cast<int>(c));
    value.push_back(v);
  }
};

// Maximizes z such that every job's throughput is at least need * z.
GavelShares maximize(const GavelProblem& problem, const std::vector<double>& need) {
  const size_t jobs = problem.throughput.size();
  const size_t types = problem.devices.size();
  const std::unique_ptr<glp_prob, DeleteProblem> lp(glp_create_prob());
  glp_set_obj_dir(lp.get(), GLP_MAX);
  const size_t z = jobs * types + 1;
  glp_add_cols(lp.get(), static_cast<int>(z));
  for (size_t c = 1; c <= z; ++c) glp_set_col_bnds(lp.get(), static_cast<int>(c), GLP_LO, 0, 0);
  glp_set_obj_coef(lp.get(), static_cast<int>(z), 1);
  glp_add_rows(lp.get(), static_cast<int>(2 * jobs + types));
  Entries entries;
  for (size_t m = 0; m < jobs; ++m) {
    const size_t reaches = m + 1;
    const size_t time = jobs + m + 1;
    glp_set_row_bnds(lp.get(), static_cast<int>(reaches), GLP_LO, 0, 0);
    glp_set_row_bnds(lp.get(), static_cast<int>(time), GLP_UP, 0, 1);
    // In units of the job's best throughput, so that the rows are of one size.
    const double best =
        *std::max_element(problem.throughput[m].begin(), problem.throughput[m].end());
    entries.add(reaches, z, -need[m] / best);
    for (size_t j = 0; j < types; ++j) {
      const size_t x = m * types + j + 1;
      if (problem.throughput[m][j] > 0) {
        entries.add(reaches, x, problem.throughput[m][j] / best);
      }
      entries.add(time, x, 1);
      entries.add(2 * jobs + j + 1, x, problem.scale[m]);
    }
  }
  for (size_t j = 0; j < types; ++j) {
    glp_set_row_bnds(lp.get(), static_cast<int>(2 * jobs + j + 1), GLP_UP, 0, problem.devices[j]);
  }
  glp_load_matrix(lp.get(), static_cast<int>(entries.row.size()) - 1, entries.row.data(),
                  entries.column.data(), entries.value.data());
  // It would write to stdout, which belongs to results.
  glp_term_out(GLP_OFF);
  glp_smcp options;
  glp_init_smcp(&options);
  options.msg_lev = GLP_MSG_OFF;
  glp_scale_prob(lp.get(), GLP_SF_GM | GLP_SF_EQ);
  const int failed = glp_simplex(lp.get(), &options);
  TY_CHECK(failed == 0 && glp_get_status(lp.get()) == GLP_OPT, "GLPK: {} {}", failed,
           glp_get_status(lp.get()));
  GavelShares shares;
  shares.objective = glp_get_col_prim(lp.get(), static_cast<int>(z));
  shares.share.assign(jobs, std::vector<double>(types));
  for (size_t m = 0; m < jobs; ++m) {
    for (size_t j = 0; j < types; ++j) {
      shares.share[m][j] =
          std::max(0.0, glp_get_col_prim(lp.get(), static_cast<int>(m * types + j + 1)));
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
