// Training jobs on this machine under a scheduling policy.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule/simulator/policy.h"
#include "cluster/schedule/simulator/simulate.h"

namespace trainyard::schedule {

struct LiveJob {
  std::string id;
  std::vector<std::string> train;  // arguments of `trainyard train`, without workers and names
  double epochs = 1;               // what they say of it
  double arrival = 0;              // seconds after the beginning
  int32_t most_workers = 1;
};

struct LivePlan {
  std::vector<LiveJob> jobs;
  double interval = 10;  // seconds between decisions
};

// {interval_s, jobs: [{id, train: "--model lenet5 --epochs 3", arrival_s, most_workers}]}. Throws
// Error with file, line and field.
LivePlan read_live_plan(std::string_view text, const std::string& origin);

struct LiveOptions {
  std::string program;           // that trains
  std::filesystem::path folder;  // of the runs and of the journal
  int32_t slots = 2;             // workers at the same time
  std::function<void(const std::string&)> note = {};
  std::function<bool()> should_stop = {};
};

// Starts, stops (each saves a checkpoint) and resumes trainings with the workers that `policy`
// gives them, by the losses, epochs and speeds that they write, until all have ended. Everything it
// does goes to journal.jsonl first; a later call with the same folder goes on from there, its clock
// too. Throws Failure if a training fails.
SimulationResult run_live(const LivePlan& plan, Policy& policy, const LiveOptions& options);

}  // namespace trainyard::schedule
