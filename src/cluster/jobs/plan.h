// What a job would cost where: machines that satisfy it, their published prices, and the time that
// is predicted for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/jobs/description/job.h"
#include "cluster/predict/catalog.h"
#include "cluster/predict/networks.h"

namespace trainyard::jobs {

struct PlanOptions {
  predict::GraphSource graphs;             // of the zoo, or files
  std::optional<double> hours;             // given instead of predicted
  std::string link = {};                   // between nodes; empty: the machine's own
  std::vector<std::string> catalogs = {};  // more devices, as predict takes them
};

enum class TimeOrigin : uint8_t { kUnknown, kPredicted, kGiven, kLimit };
std::string_view time_origin_name(TimeOrigin origin);

struct RentableInstance {
  std::string platform;  // as --to takes it
  std::string cloud;
  std::string region;
  std::string machine;
  std::string accelerator;
  std::string device;  // as the catalog has it; empty: it has none
  std::string inside;  // links of the machine, empty where not known
  std::string network;
  int64_t count = 0;
  int64_t nodes = 1;
  std::optional<double> usd_per_hour;  // of all nodes; none is published if absent
  bool complete = true;  // false: without the machine that accelerators are attached to
  std::optional<double> hours;
  TimeOrigin time = TimeOrigin::kUnknown;
  std::string date;  // of the price
  std::string source;
  std::string note;  // whose price it is, and what it leaves out

  std::optional<double> total_usd() const {
    return usd_per_hour && hours ? std::optional(*usd_per_hour * *hours) : std::nullopt;
  }
};

struct Plan {
  std::vector<RentableInstance>
      offers;  // cheapest first; then incomplete ones, then those without a price
  std::vector<std::string> notes;    // how the time was found, and what is left out
  std::optional<Workload> workload;  // that a time is predicted for
};

// What the job trains: `workload`, or what a trainyard train of the command says.
std::optional<Workload> workload_of(const Job& job);

Plan plan_job(const Job& job, const PlanOptions& options);

}  // namespace trainyard::jobs
