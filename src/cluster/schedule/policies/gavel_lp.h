// Gavel's policies as linear programs (Narayanan et al., OSDI 2020), solved by COIN-OR CLP.
#pragma once

#include <vector>

namespace trainyard::schedule {

// Jobs on devices of several types.
struct GavelProblem {
  std::vector<std::vector<double>> throughput;  // [job][type], steps/s of the whole job
  std::vector<double> devices;                  // of each type
  std::vector<double> scale;                    // devices that each job takes
};

struct GavelShares {
  // [job][type]: the share of time that the job spends on the type. Rows sum to at most 1; one of
  // the optima.
  std::vector<std::vector<double>> share;
  double objective = 0;
};

// Throughput of each job if all had an equal part of every type.
std::vector<double> proportional_throughput(const GavelProblem& problem);

// Least attained service: maximizes the least throughput over (weight times that of an equal part).
GavelShares max_min_fairness(const GavelProblem& problem, const std::vector<double>& weights);
// Minimizes the time until all steps are done; that time is the objective.
GavelShares min_makespan(const GavelProblem& problem, const std::vector<double>& steps);
// Finish-time fairness (Themis): minimizes the largest (elapsed + steps / throughput) over the
// same with an equal part from the beginning, `alone`.
GavelShares finish_time_fairness(const GavelProblem& problem, const std::vector<double>& steps,
                                 const std::vector<double>& elapsed,
                                 const std::vector<double>& alone);

}  // namespace trainyard::schedule
