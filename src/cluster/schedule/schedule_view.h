// The documents of `trainyard schedule`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/schedule/summary.h"
#include "report/document.h"

namespace trainyard::report {

struct ScheduleContext {
  std::string workload;
  std::string cluster;  // "13 nodes of 16 CPUs"
  std::vector<std::string> notes = {};
};

// All policies side by side, with a chart of completion times and one of who ran when.
Document schedule_document(const ScheduleContext& context,
                           std::span<const schedule::SimulationResult> results);

// Averages of each policy for estimates that are off by these shares.
struct Sensitivity {
  std::string policy;
  std::vector<double> average;  // by error
  std::vector<double> makespan;
};
void add_sensitivity(Document& document, std::span<const double> errors,
                     std::span<const Sensitivity> rows);

struct DecisionTime {
  std::string policy;
  int64_t jobs = 0;
  int64_t tasks = 0;  // that were placed
  int64_t nodes = 0;
  double seconds = 0;      // on the clock
  double cpu_seconds = 0;  // of the processor
};
Document decisions_document(std::span<const DecisionTime> rows);

}  // namespace trainyard::report
