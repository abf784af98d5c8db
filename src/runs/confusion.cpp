#include "runs/confusion.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::report {
namespace {

constexpr size_t kShownConfusions = 10;

// 0 for an empty class, so that sorting has a number; tables show "-" instead.
double part_of(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

Cell part_cell(int64_t part, int64_t all) {
  return all == 0 ? Cell("-", "") : percent_cell(part_of(part, all));
}

// Counts are row-major, a row for each true class. There may be fewer names than classes.
Confusion::Confusion(std::vector<int64_t> counts, std::span<const std::string> names)
    : counts_(std::move(counts)) {
  const auto classes =
      static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(counts_.size()))));
  TY_CHECK(classes * classes == counts_.size(), "a confusion matrix of {} counts", counts_.size());
  classes_.resize(classes);
  for (size_t c = 0; c < classes; ++c) {
    ClassCounts& own = classes_[c];
    own.name = c < names.size() ? names[c] : std::to_string(c);
    own.correct = at(c, c);
    for (size_t other = 0; other < classes; ++other) {
      own.images += at(c, other);
      own.guessed += at(other, c);
    }
  }
}

// The classes that are recognized worst, if there are more than `most`: among a thousand the good
// ones are of no interest.
Table Confusion::classes_table(size_t most) const {
  std::vector<ClassCounts> shown;
  for (const ClassCounts& c : classes_) {
    if (c.images > 0 || c.guessed > 0) shown.push_back(c);
  }
  if (shown.size() > most) {
    // A class without pictures has no recall to be sorted by.
    std::erase_if(shown, [](const ClassCounts& c) { return c.images == 0; });
    std::ranges::stable_sort(shown, {},
                             [](const ClassCounts& c) { return part_of(c.correct, c.images); });
    shown.resize(std::min(shown.size(), most));
  }
  Table table({{"class", Align::kLeft}, {"images"}, {"correct"}, {"recall"}, {"precision"}});
  for (const ClassCounts& c : shown) {
    table.add_row({c.name, count_cell(c.images), count_cell(c.correct),
                   part_cell(c.correct, c.images), part_cell(c.correct, c.guessed)});
  }
  return table;
}

Table Confusion::matrix_table() const {
  std::vector<Column> columns = {{"is \\ taken for", Align::kLeft}};
  for (const ClassCounts& c : classes_) columns.push_back({c.name});
  Table table(std::move(columns));
  for (size_t truth = 0; truth < size(); ++truth) {
    std::vector<Cell> cells = {classes_[truth].name};
    for (size_t guess = 0; guess < size(); ++guess) cells.push_back(count_cell(at(truth, guess)));
    table.add_row(std::move(cells));
  }
  return table;
}

Table Confusion::confused_table() const {
  struct Pair {
    int64_t images;
    size_t truth;
    size_t guess;
  };
  std::vector<Pair> found;
  for (size_t truth = 0; truth < size(); ++truth) {
    for (size_t guess = 0; guess < size(); ++guess) {
      const int64_t images = at(truth, guess);
      if (truth != guess && images > 0) found.push_back({images, truth, guess});
    }
  }
  std::ranges::stable_sort(found, std::greater{}, &Pair::images);
  found.resize(std::min(found.size(), kShownConfusions));
  Table table({{"is", Align::kLeft}, {"taken for", Align::kLeft}, {"images"}, {"of the class"}});
  for (const Pair& pair : found) {
    const ClassCounts& truth = classes_[pair.truth];
    table.add_row({truth.name, classes_[pair.guess].name, count_cell(pair.images),
                   part_cell(pair.images, truth.images)});
  }
  return table;
}

Chart Confusion::mistakes_chart(std::string title) const {
  Chart chart{.kind = ChartKind::kHeatMap,
              .title = std::move(title),
              .x = {.name = "predicted class"},
              .y = {.name = "true class"},
              .caption =
                  "Rows are the true class, columns what the network said; right answers "
                  "are left out."};
  Series series{"images", Origin::kMeasured, {}};
  for (size_t truth = 0; truth < size(); ++truth) {
    chart.x.categories.push_back(classes_[truth].name);
    chart.y.categories.push_back(classes_[truth].name);
    for (size_t guess = 0; guess < size(); ++guess) {
      // The diagonal would be so dark that all mistakes looked alike.
      if (truth == guess) continue;
      series.points.push_back({.x = static_cast<double>(guess),
                               .y = static_cast<double>(truth),
                               .value = static_cast<double>(at(truth, guess))});
    }
  }
  if (!series.points.empty()) chart.series.push_back(std::move(series));
  return chart;
}

// Shares that do not exist are left out, not 0.
Json Confusion::classes_json() const {
  Json list = Json::array();
  for (const ClassCounts& c : classes_) {
    Json entry = Json::object(
        {{"name", c.name}, {"images", c.images}, {"guessed", c.guessed}, {"correct", c.correct}});
    if (c.images > 0) entry["recall"] = part_of(c.correct, c.images);
    if (c.guessed > 0) entry["precision"] = part_of(c.correct, c.guessed);
    list.push_back(std::move(entry));
  }
  return list;
}

Json Confusion::matrix_json() const {
  Json rows = Json::array();
  for (size_t truth = 0; truth < size(); ++truth) {
    Json row = Json::array();
    for (size_t guess = 0; guess < size(); ++guess) row.push_back(at(truth, guess));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace trainyard::report
