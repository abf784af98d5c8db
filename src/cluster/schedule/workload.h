// Clusters with their jobs: our own YAML, tables of others, and generators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cluster/schedule/simulator/simulate.h"

namespace trainyard::schedule {

struct Workload {
  std::string name;
  Cluster cluster;
  std::vector<Job> jobs;  // by arrival
  SimulationOptions options;
};

// docs/scheduling.md describes the format. Throws Error with file, line and field.
Workload workload_from_yaml(std::string_view text, const std::string& origin);

// What a table of jobs says nothing about.
struct TableDefaults {
  int32_t nodes = 16;
  double gpus_per_node = 4;
  std::string throughputs = {};   // a file, for traces of Gavel
  std::string applications = {};  // a folder, for tables of Pollux
};
// Gangs: columns num_gpu, submit_time, duration (Tiresias), or num_gpu, creation_time,
// deletion_time and perhaps scheduled_time (Alibaba 2023); seconds. Throws Error with file, line
// and field.
Workload workload_from_csv(std::string_view text, const std::string& origin,
                           const TableDefaults& defaults);

// Gangs of a trace of Gavel (fields between tabs, no header) on `defaults.nodes` nodes of each
// device that its throughputs name: {device: {"('MODEL', GPUS)": {"null": steps per second}}}.
// Throws Error with file, line and field.
Workload workload_from_gavel(std::string_view text, const std::string& origin,
                             const Json& throughputs, const TableDefaults& defaults);

// Elastic jobs of Pollux' simulator: columns name, time, application, num_replicas, batch_size. Of
// each application `defaults.applications` has a folder with its measured tables: placements.csv,
// scalability.csv, validation-BATCH.csv. Throws Error with file, line and field.
Workload workload_from_pollux(std::string_view text, const std::string& origin,
                              const TableDefaults& defaults);

// "optimus:60", "gavel:1000", "month:10000" (a generator and how many jobs),
// "published:tiresias-60" (a table of the catalog), or a file. Throws Error.
Workload load_workload(const std::string& name, const TableDefaults& defaults, uint64_t seed);

// Elastic jobs as in Optimus' testbed: six published networks, synchronous and asynchronous at
// random, arrivals uniform in 12,000 s (longer for more than 60 jobs), 13 nodes of 16 CPUs, 80 GB.
Workload optimus_workload(int64_t jobs, uint64_t seed);
// Gangs as Gavel draws them: Poisson arrivals, 10^x minutes on a V100, 1 to 8 GPUs, on V100s, P100s
// and K80s.
Workload gavel_workload(int64_t jobs, uint64_t seed);
// The same gangs on one type, `jobs` of them spread over 30 days, on as many nodes of 4 as keep
// them 80 % busy.
Workload month_workload(int64_t jobs, uint64_t seed);

}  // namespace trainyard::schedule
