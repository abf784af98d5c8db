// One recorded trajectory beside one copy of our environment.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "rl/env/environment.h"
#include "rl/env/recording.h"

namespace trainyard::rl {

// Whether all numbers agree within the tolerance, and all else exactly; `worst` keeps the largest
// difference. Of objects, the members of `theirs` count.
bool values_agree(const Json& ours, const Json& theirs, double tolerance, double& worst);

class RecordedRun {
 public:
  // Everything is referred to. Differences go to `check`.
  RecordedRun(RecordingCheck& check, Environment& environment, const Json& trajectory);
  ~RecordedRun() { environment_.chance(0).play_back(nullptr); }
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  Environment& environment() { return environment_; }
  const Json& field(const char* key) const { return trajectory_.at(key); }
  const Json* find(const char* key) const { return trajectory_.find(key); }
  const Json& at(const char* key, int64_t t) const;
  int64_t length() const { return static_cast<int64_t>(field("actions").items().size()); }

  // What the game draws from now on, as recorded; those of before must be used up.
  void feed(const Json& draws);
  Outcome step(int64_t t);
  void begin_episode();
  // Of the last step or beginning.
  const std::vector<float>& observation() const { return observation_; }

  void count_step() { ++check_.steps; }
  // "" is none.
  void note(int64_t t, const std::string& difference);
  // The largest difference becomes part of the check.
  bool agree(const Json& ours, const Json& theirs, double tolerance) {
    return values_agree(ours, theirs, tolerance, check_.worst);
  }

 private:
  RecordingCheck& check_;
  Environment& environment_;
  const Json& trajectory_;
  std::vector<float> observation_;
  std::deque<Draw> draws_;
};

}  // namespace trainyard::rl
