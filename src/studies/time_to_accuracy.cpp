#include "studies/time_to_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "cluster/predict/embedded.h"

namespace trainyard::recipes {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kSecondsPerHour = 3600;

// The incomplete gamma function P(a, x): by its series, or for large x by the continued fraction of
// the rest.
double lower_gamma(double a, double x) {
  if (x <= 0) return 0;
  // x^a e^-x / Gamma(a), in logarithms.
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double n = a + 1; term > 1e-16 * sum; n += 1) {
      term *= x / n;
      sum += term;
    }
    return front * sum;
  }
  // Lentz's method (Numerical Recipes, 6.2).
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double fraction = d;
  for (int i = 1; i < 1000; ++i) {
    const double factor = -i * (i - a);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) < 1e-15) break;
  }
  return 1 - front * fraction;
}

// The first of the names that the table has.
std::string find_column(const CsvTable& table, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto& columns = table.columns();
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) return name;
  }
  return "";
}

// Only a header with tabs makes a file tab-separated.
std::string with_commas_for_tabs(std::string text) {
  const std::string_view header = std::string_view(text).substr(0, text.find('\n'));
  if (header.find('\t') == std::string_view::npos) return text;
  std::replace(text.begin(), text.end(), '\t', ',');
  return text;
}

// Shares, whatever the file has: an accuracy above 1 is one in percent, and then all are.
void make_shares(std::vector<TrainingLog>& logs, const std::string& origin) {
  double most = 0;
  for (const TrainingLog& log : logs) {
    for (const LogPoint& point : log.points) most = std::max(most, point.accuracy);
  }
  TY_REQUIRE(most <= 100, "{}: an accuracy of {}, expected shares (0 to 1) or percent", origin,
             most);
  if (most <= 1) return;
  for (TrainingLog& log : logs) {
    for (LogPoint& point : log.points) point.accuracy /= 100;
  }
}

}  // namespace

// Bisection: the function is monotonic, and speed does not matter.
double chi_square_quantile(double probability, double degrees) {
  double low = 0;
  double high = degrees + 1;
  while (lower_gamma(degrees / 2, high / 2) < probability) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (lower_gamma(degrees / 2, middle / 2) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

Spread spread_of(std::span<const double> values) {
  Spread spread;
  spread.count = static_cast<int64_t>(values.size());
  if (values.empty()) return spread;
  const auto n = static_cast<double>(values.size());
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  const double cv = *spread.deviation / spread.mean;
  spread.cv = cv;
  // Vangel's modified McKay interval; `under` is below 0 where the upper end is open.
  const auto bound = [&](double probability) -> std::optional<double> {
    const double u = chi_square_quantile(probability, n - 1);
    const double under = ((u + 2) / n - 1) * cv * cv + u / (n - 1);
    if (under <= 0) return std::nullopt;
    return cv / std::sqrt(under);
  };
  spread.cv_low = bound((1 + kConfidence) / 2);
  spread.cv_high = bound((1 - kConfidence) / 2);
  return spread;
}

// The time of the first epoch that reaches the target; whatever follows does not change it.
TtaRun time_to(const TrainingLog& log, double target) {
  TY_REQUIRE(!log.points.empty(), "{}: no epoch is recorded", log.name);
  TtaRun run{.name = log.name};
  for (const LogPoint& point : log.points) {
    run.best_top1 = std::max(run.best_top1, point.accuracy);
    if (run.reached) continue;
    run.seconds = point.seconds;
    run.epochs = point.epoch;
    run.reached = point.accuracy >= target;
  }
  return run;
}

// Runs that did not reach the target count with their whole time in mean_at_least_s alone, which
// makes it a lower bound.
TtaSummary summarize(std::vector<TtaRun> runs) {
  TtaSummary summary;
  std::vector<double> seconds;
  std::vector<double> epochs;
  double all = 0;
  for (const TtaRun& run : runs) {
    all += run.seconds;
    if (!run.reached) continue;
    seconds.push_back(run.seconds);
    epochs.push_back(run.epochs);
  }
  summary.reached = static_cast<int64_t>(seconds.size());
  summary.seconds = spread_of(seconds);
  summary.epochs = spread_of(epochs);
  summary.mean_at_least_s = runs.empty() ? 0 : all / static_cast<double>(runs.size());
  summary.runs = std::move(runs);
  return summary;
}

std::vector<TrainingLog> read_training_logs(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::parse(with_commas_for_tabs(read_file(path)), path.string());
  const std::string accuracy =
      find_column(table, {"accuracy", "top1Accuracy", "test_top1", "top1"});
  const std::string hours = find_column(table, {"hours"});
  const std::string run = find_column(table, {"run", "seed"});
  TY_REQUIRE(!accuracy.empty(), "{}: no column accuracy (or top1Accuracy, test_top1, top1)",
             path.string());
  const std::string time = hours.empty() ? "seconds" : "hours";
  table.require_columns({"epoch", time});
  // By name, so lines of several runs may be mixed; within one they must be in order of time.
  std::map<std::string, TrainingLog> logs;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    const std::string name = run.empty() ? "" : row.text(run);
    TrainingLog& log = logs[name];
    log.name = path.stem().string() + (name.empty() ? "" : " " + name);
    const double seconds =
        hours.empty() ? row.number("seconds") : kSecondsPerHour * row.number("hours");
    for (const std::string& column : {time, accuracy}) {
      if (row.number(column) < 0) {
        row.fail(column, fmt::format("expected 0 or more, found '{}'", row.text(column)));
      }
    }
    if (!log.points.empty() && seconds < log.points.back().seconds) {
      row.fail(time, "time that runs backwards");
    }
    log.points.push_back({row.number("epoch"), seconds, row.number(accuracy)});
  }
  TY_REQUIRE(!logs.empty(), "{}: no line below the names of the columns", path.string());
  std::vector<TrainingLog> all;
  for (auto& [name, log] : logs) all.push_back(std::move(log));
  make_shares(all, path.string());
  return all;
}

std::vector<PublishedVariation> published_variations() {
  constexpr std::string_view kFile = "training/time_to_accuracy.csv";
  std::vector<PublishedVariation> all;
  const CsvTable table =
      CsvTable::parse(embedded_text(predict::embedded_files(), kFile), std::string(kFile));
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    PublishedVariation one{.entry = row.text("entry"),
                           .task = row.text("task"),
                           .cv = row.number("cv_percent") / 100,
                           .source = row.text("source")};
    if (const auto runs = row.maybe_number("runs")) one.runs = std::llround(*runs);
    if (const auto reached = row.maybe_number("reached_percent")) one.reached = *reached / 100;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace trainyard::recipes
