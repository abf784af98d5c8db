// What a run counts and writes as it goes.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "base/stopwatch.h"
#include "rl/agents/learner.h"
#include "rl/agents/run.h"
#include "runs/events.h"
#include "runs/metrics.h"

namespace trainyard::rl {

// Means over what was added since they were taken.
class RunningMean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  // NaN if nothing was added.
  double take();

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

// Writes metrics.jsonl every so many steps and keeps the numbers of the result. Not thread-safe.
class RunProgress {
 public:
  RunProgress(const RlConfig& config, const runs::RunDirectory* directory, const RunHooks& hooks,
              int64_t first_step);

  void add_episode(const Episode& episode);
  void add_update(const UpdateReport& report);
  // Writes a line if it is time. `more` has further members.
  void step(int64_t steps, int64_t updates, double epsilon, const Json& more = Json::object());
  // The time that it took does not count.
  void add_evaluation(int64_t steps, const std::function<Evaluation()>& evaluate);

  int64_t episodes() const { return episodes_; }
  double recent_return() const;
  double seconds() const { return before_ + clock_.seconds() - paused_; }
  RunResult& result() { return result_; }

  // For checkpoints: what the numbers go on from.
  Json state() const;
  void set_state(const Json& state);

 private:
  std::string return_text() const;

  RlConfig config_;
  RunHooks hooks_;
  std::optional<runs::MetricsWriter> metrics_;
  RunResult result_;
  Stopwatch clock_;
  double before_ = 0;
  double paused_ = 0;
  int64_t episodes_ = 0;
  std::deque<double> recent_;
  RunningMean loss_, value_, error_, age_;
  int64_t next_line_;
  double shown_ = 0;  // seconds, of the last line for people
};

}  // namespace trainyard::rl
