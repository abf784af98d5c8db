// A search over settings: trials that are trained side by side, each a run directory, of which
// those that do badly may be given up early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/train_config.h"

namespace trainyard::recipes {

struct Dimension {
  std::string setting;  // "learning_rate"
  // A range of numbers, or choices.
  double low = 0;
  double high = 0;
  bool log = false;    // drawn evenly by ratios
  bool whole = false;  // whole numbers
  std::vector<std::string> choices = {};

  // The value at a share of the way, from 0 to 1, as it is written in a file of settings.
  std::string at(double share) const;
  // The way back: where in the range or among the choices a value is.
  double share_of(const std::string& value) const;
};

// One value for each dimension.
using Point = std::vector<std::string>;

// "learning-rate=log:1e-4..1e-1,momentum=0.8..0.95,batch=32|64|128": settings of train, by their
// flags. Throws Error with the nearest name for an unknown setting, and for ranges and choices that
// the setting does not take.
std::vector<Dimension> parse_space(std::string_view text);

// The point of a trial, drawn by the seed and its number alone.
Point draw_point(const std::vector<Dimension>& space, uint64_t seed, int64_t trial);

// All choices with all others; of ranges so many values, both ends among them. Throws Error if
// there are more than `most`.
std::vector<Point> grid_of(const std::vector<Dimension>& space, int64_t values, int64_t most);

// The settings with the values of a point. Throws Error for values that they do not take.
train::TrainConfig with_point(const train::TrainConfig& config, const std::vector<Dimension>& space,
                              const Point& point);

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
