#include "cluster/schedule/speed/speed_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/csv.h"
#include "base/error.h"
#include "cluster/schedule/speed/nnls.h"

namespace trainyard::schedule {
namespace {

constexpr std::array<std::string_view, 4> kAsyncMeanings = {
    "computation of a gradient", "transfer to the servers", "per worker", "per server"};
constexpr std::array<std::string_view, 5> kSyncMeanings = {
    "computation per image", "backward pass and rest", "transfer to the servers", "per worker",
    "per server"};

// Seconds are the sum of these times theta.
std::vector<double> features(SpeedForm form, double batch, int64_t servers, int64_t workers) {
  const auto p = static_cast<double>(servers);
  const auto w = static_cast<double>(workers);
  // Peng et al., EuroSys 2018, equations for asynchronous and synchronous training: T = sum of
  // theta_i times these.
  if (form == SpeedForm::kAsync) return {1, w / p, w, p};
  return {batch / w, 1, w / p, w, p};
}

// Of a step (sync), or of a worker's gradient (async).
double seconds_of(SpeedForm form, const SpeedPoint& point) {
  const double steps = form == SpeedForm::kAsync ? static_cast<double>(point.workers) : 1.0;
  return steps / point.steps_per_s;
}

// Several measurements of one pair count as one, their mean: pairs that were measured often must
// not outweigh others.
std::map<std::pair<int64_t, int64_t>, double> averaged_points(std::span<const SpeedPoint> points) {
  std::map<std::pair<int64_t, int64_t>, std::pair<double, int>> sums;
  for (const SpeedPoint& point : points) {
    TY_REQUIRE(point.servers >= 1 && point.workers >= 1,
               "a speed with {} servers and {} workers; both have to be at least 1", point.servers,
               point.workers);
    TY_REQUIRE(
        std::isfinite(point.steps_per_s) && point.steps_per_s > 0,
        "the speed with {} servers and {} workers is {:g} steps/s, expected a number above 0",
        point.servers, point.workers, point.steps_per_s);
    auto& [sum, count] = sums[{point.servers, point.workers}];
    sum += point.steps_per_s;
    count += 1;
  }
  std::map<std::pair<int64_t, int64_t>, double> means;
  for (const auto& [pair, sum] : sums) means[pair] = sum.first / sum.second;
  return means;
}

}  // namespace

SpeedForm speed_form_from_name(std::string_view name) {
  TY_REQUIRE(name == "sync" || name == "async", "'{}' is no form of the speed: sync or async",
             name);
  return name == "sync" ? SpeedForm::kSync : SpeedForm::kAsync;
}

std::string_view speed_form_name(SpeedForm form) {
  return form == SpeedForm::kSync ? "sync" : "async";
}

size_t num_coefficients(SpeedForm form) {
  return form == SpeedForm::kSync ? kSyncMeanings.size() : kAsyncMeanings.size();
}

std::string_view coefficient_meaning(SpeedForm form, size_t index) {
  return form == SpeedForm::kSync ? kSyncMeanings.at(index) : kAsyncMeanings.at(index);
}

// Steps per second. 0 where nothing can run.
double SpeedModel::fitted(int64_t servers, int64_t workers) const {
  if (servers < 1 || workers < 1) return 0;
  const auto p = static_cast<double>(servers);
  const auto w = static_cast<double>(workers);
  if (form == SpeedForm::kAsync) {
    return w / (theta[0] + theta[1] * w / p + theta[2] * w + theta[3] * p);
  }
  return 1 / (theta[0] * batch / w + theta[1] + theta[2] * w / p + theta[3] * w + theta[4] * p);
}

// Measurements are better than any fit.
double SpeedModel::at(int64_t servers, int64_t workers) const {
  if (!measured.empty()) {
    const auto found = measured.find({servers, workers});
    if (found != measured.end()) return found->second;
  }
  return fitted(servers, workers);
}

std::vector<double> SpeedModel::parts(int64_t servers, int64_t workers) const {
  std::vector<double> seconds = features(form, batch, servers, workers);
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] *= theta[i];
  return seconds;
}

SpeedModel fit_speed(SpeedForm form, double batch, std::span<const SpeedPoint> points,
                     SpeedError error) {
  SpeedModel model{.form = form, .theta = {}, .batch = batch};
  model.measured = averaged_points(points);
  const size_t columns = num_coefficients(form);
  TY_REQUIRE(model.measured.size() >= columns,
             "{} measured pairs of servers and workers, expected at least {} for the {} form; "
             "measure more, or take `form` {}",
             model.measured.size(), columns, speed_form_name(form),
             form == SpeedForm::kSync ? "async, which needs 4" : "sync");
  std::vector<double> rows;
  std::vector<double> seconds;
  for (const auto& [pair, speed] : model.measured) {
    const double time = seconds_of(form, {pair.first, pair.second, speed});
    // Relative errors: rows are divided by their time, so that slow configurations do not decide
    // the fit.
    const double weight = error == SpeedError::kRelative ? 1 / time : 1;
    for (const double feature : features(form, batch, pair.first, pair.second)) {
      rows.push_back(weight * feature);
    }
    seconds.push_back(weight * time);
  }
  // Coefficients are seconds, so none may be negative.
  model.theta = non_negative_least_squares(rows, seconds, columns);
  return model;
}

double speed_mape(const SpeedModel& model, std::span<const SpeedPoint> points) {
  double sum = 0;
  for (const SpeedPoint& point : points) {
    sum += std::fabs(model.fitted(point.servers, point.workers) / point.steps_per_s - 1);
  }
  return points.empty() ? 0 : sum / static_cast<double>(points.size());
}

std::vector<std::pair<int64_t, int64_t>> pairs_to_measure(SpeedForm form, double batch,
                                                          std::span<const SpeedPoint> points,
                                                          int64_t most_servers,
                                                          int64_t most_workers, size_t count) {
  const size_t columns = num_coefficients(form);
  const auto scaled = [&](int64_t p, int64_t w) {
    // Each feature in units of its mean size, so that no unit decides.
    const auto mean = features(form, batch, (most_servers + 1) / 2, (most_workers + 1) / 2);
    std::vector<double> row = features(form, batch, p, w);
    for (size_t c = 0; c < columns; ++c) row[c] /= mean[c];
    return row;
  };
  std::vector<double> rows;
  for (const SpeedPoint& point : points) {
    const std::vector<double> row = scaled(point.servers, point.workers);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto known = averaged_points(points);
  std::vector<std::pair<int64_t, int64_t>> chosen;
  // Greedy D-optimal design: each time the pair that raises the determinant of the information
  // matrix most.
  while (chosen.size() < count) {
    std::pair<int64_t, int64_t> best = {0, 0};
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t p = 1; p <= most_servers; ++p) {
      for (int64_t w = 1; w <= most_workers; ++w) {
        const std::pair pair = {p, w};
        if (known.contains(pair) || std::find(chosen.begin(), chosen.end(), pair) != chosen.end()) {
          continue;
        }
        std::vector<double> with = rows;
        const std::vector<double> row = scaled(p, w);
        with.insert(with.end(), row.begin(), row.end());
        const double told = information(with, columns, 1e-9);
        if (told > most) {
          most = told;
          best = pair;
        }
      }
    }
    if (best.first == 0) break;
    chosen.push_back(best);
    const std::vector<double> row = scaled(best.first, best.second);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return chosen;
}

std::vector<SpeedPoint> speed_points_from_csv(std::string_view text, const std::string& origin,
                                              double batch) {
  const CsvTable table = CsvTable::parse(text, origin);
  table.require_columns({"servers", "workers"});
  const bool images = !table.has_column("speed") && table.has_column("images_per_s");
  if (!images) table.require_columns({"speed"});
  std::vector<SpeedPoint> points;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    SpeedPoint point{row.integer("servers"), row.integer("workers"),
                     row.number(images ? "images_per_s" : "speed")};
    // An all-reduce: every worker reduces its own share.
    if (point.servers == 0) point.servers = point.workers;
    if (point.servers < 1) row.fail("servers", "expected 0 (all-reduce) or more");
    if (point.workers < 1) row.fail("workers", "expected 1 or more");
    if (!(point.steps_per_s > 0)) {
      row.fail(images ? "images_per_s" : "speed", "expected a speed above 0");
    }
    if (images) point.steps_per_s /= table.has_column("batch") ? row.number("batch") : batch;
    points.push_back(point);
  }
  return points;
}

}  // namespace trainyard::schedule
