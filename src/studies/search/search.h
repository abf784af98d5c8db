// A search over settings: trials that are trained side by side, each a run directory, of which
// those that do badly may be given up early.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studies/search/space.h"

namespace trainyard::recipes {

struct SearchOptions {
  std::string program = {};           // this one
  std::filesystem::path folder = {};  // trial-1/, trial-2/, … are run directories
  std::string space = {};
  std::string scheduler = "random";  // one of scheduler_names()
  int64_t trials = 20;
  int64_t grid_values = 3;  // of each range, with grid
  int64_t eta = 3;          // of asha: one in so many goes on
  int64_t side_by_side = 1;
  uint64_t seed = 1;
  std::function<bool()> should_stop = {};
  std::function<void(const std::string&)> note = {};
};
const std::vector<std::string>& scheduler_names();

struct Trial {
  int64_t number = 0;  // from 1
  Point point;
  std::vector<double> scores = {};  // of the test, one for each epoch that is done
  double seconds = 0;
  bool failed = false;  // diverged, say
  bool closed = false;  // ended by itself before the epochs it was to be trained for

  int64_t epochs() const { return static_cast<int64_t>(scores.size()); }
};

struct SearchResult {
  std::vector<Dimension> space;
  std::vector<Trial> trials;  // those that were begun, by number
  std::string score = {};     // "top1", or "loss"
  bool higher_is_better = true;
  int64_t epochs = 0;               // of a trial that is trained to its end
  std::optional<size_t> best = {};  // of `trials`

  // The best of the first so many epochs; none: there is no score.
  std::optional<double> score_at(const Trial& trial, int64_t epochs) const;
  bool is_better(double a, double b) const { return higher_is_better ? a > b : a < b; }
};

// Epochs after which asha compares trials: epochs / eta^k, ascending, the last is all of them.
std::vector<int64_t> rungs_of(int64_t epochs, int64_t eta);

// What is to be trained next, and to which epoch, by asynchronous successive halving (Li et al.
// 2020): a trial that is among the best 1 / eta of those that reached its rung goes on, else
// another is begun. None: nothing, until a running one has ended. With one rung every trial is
// trained to its end.
struct NextTraining {
  size_t trial = 0;
  int64_t epochs = 0;
};
struct TrialProgress {
  std::vector<double> scores;  // at each rung that it reached; more is better
  bool running = false;
  bool closed = false;  // nothing is left to train

  int64_t rung() const { return static_cast<int64_t>(scores.size()) - 1; }
};
std::optional<NextTraining> next_training(const std::vector<TrialProgress>& trials,
                                          const std::vector<int64_t>& rungs, int64_t eta);

// Trains what is not there yet. Throws Error for settings or values that cannot be trained, before
// anything starts, or if the folder holds another search; Failure if somebody wants to stop.
SearchResult search(const train::TrainConfig& config, const SearchOptions& options);

}  // namespace trainyard::recipes
