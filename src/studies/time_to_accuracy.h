// How long trainings take to a target, and how much that varies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard::recipes {

// After an epoch.
struct LogPoint {
  double epoch = 0;
  double seconds = 0;   // since the run began
  double accuracy = 0;  // 0 to 1
};

// One training's log, ours or somebody else's.
struct TrainingLog {
  std::string name = {};
  std::vector<LogPoint> points = {};  // in the order of time
};

struct TtaRun {
  std::string name = {};
  int64_t seed = 0;
  bool reached = false;
  double seconds = 0;  // to the target, or all of them if it was not reached
  double epochs = 0;
  double best_top1 = 0;
};

// Sums up a log. Throws Error for one without points.
TtaRun time_to(const TrainingLog& log, double target);

struct Spread {
  int64_t count = 0;
  double mean = 0;
  // From two on: standard deviation, its share of the mean, and the 95 % confidence interval of
  // that share for normally distributed numbers (Vangel, 1996); nothing above where it is open.
  std::optional<double> deviation = {};
  std::optional<double> cv = {};
  std::optional<double> cv_low = {};
  std::optional<double> cv_high = {};
};

Spread spread_of(std::span<const double> values);
// The point below which a chi-square variable of so many degrees of freedom stays with this
// probability.
double chi_square_quantile(double probability, double degrees);

struct TtaSummary {
  std::vector<TtaRun> runs = {};
  int64_t reached = 0;
  // Of those that reached the target.
  Spread seconds = {};
  Spread epochs = {};
  // The mean if those that did not reach it had done so at their end: the true one is above.
  double mean_at_least_s = 0;
};

TtaSummary summarize(std::vector<TtaRun> runs);

// CSV (or tab-separated): epoch, seconds or hours, accuracy (or top1Accuracy, test_top1, top1), in
// percent or as a share; `run` where a file holds several. Throws Error naming file, line, column.
std::vector<TrainingLog> read_training_logs(const std::filesystem::path& path);

// A variation that somebody published.
struct PublishedVariation {
  std::string entry = {};
  std::string task = {};
  double cv = 0;  // a share of the mean
  std::optional<int64_t> runs = {};
  std::optional<double> reached = {};  // share of runs
  std::string source = {};
};

// Those of the catalog.
std::vector<PublishedVariation> published_variations();

}  // namespace trainyard::recipes
