// A training job of several processes: what it is asked to do, and what happens when it fails.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "train/train_config.h"

namespace trainyard::train {

struct JobRequest {
  TrainConfig config;
  std::set<std::string> given;  // flags whose settings the processes get: "learning-rate"
  std::string config_file;
  std::string root = "runs";
  std::string name;              // of the run directory
  std::string resume;            // name or path of a run; empty: a new one
  int64_t batch_per_worker = 0;  // 0: config.batch
};

// The request as arguments of `trainyard train`, for processes that read them again.
std::vector<std::string> arguments_of(const JobRequest& request);

struct RestartPolicy {
  int64_t restarts = 0;
  bool elastic = false;  // with one worker less each time
};

// Throws Error for what makes no sense.
void check(const RestartPolicy& policy);

struct JobHooks {
  // Starts the job, waits for its end and returns its exit code.
  std::function<int(const JobRequest&)> start;
  // A job that was asked to stop is not started again.
  std::function<bool()> stop_requested;
  std::function<void(const std::string&)> note;
};

// Starts the job until it succeeds, is stopped, or has failed once more than the policy allows:
// from its last checkpoint if it got so far. The exit code of the last attempt; throws Failure
// where restarts are used up. `request` is then that of the last attempt.
int run_restarting(JobRequest& request, const RestartPolicy& policy, const JobHooks& hooks);

}  // namespace trainyard::train
