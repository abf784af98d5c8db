#include "cli/reports/evaluation_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace trainyard::cli {
namespace {

// A matrix of more classes is for programs; people get what is confused most often.
constexpr int64_t kWidestMatrix = 20;
constexpr size_t kShownConfusions = 10;

struct ClassCounts {
  std::string name;
  int64_t images = 0;   // that are of the class
  int64_t guessed = 0;  // that the network says are
  int64_t correct = 0;  // both
};

double share(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

int64_t count_at(const train::Evaluation& test, int64_t truth, int64_t guess) {
  return test.confusion[static_cast<size_t>(truth * test.classes + guess)];
}

std::vector<ClassCounts> count_classes(const train::Evaluation& test,
                                       std::span<const std::string> names) {
  std::vector<ClassCounts> all;
  for (int64_t c = 0; c < test.classes; ++c) {
    const auto index = static_cast<size_t>(c);
    ClassCounts counts{.name = index < names.size() ? names[index] : std::to_string(c)};
    for (int64_t other = 0; other < test.classes; ++other) {
      counts.images += count_at(test, c, other);
      counts.guessed += count_at(test, other, c);
    }
    counts.correct = count_at(test, c, c);
    all.push_back(std::move(counts));
  }
  return all;
}

// Nothing of nothing is no share.
report::Cell share_cell(int64_t part, int64_t all) {
  return all == 0 ? report::Cell("-", "") : report::percent_cell(share(part, all));
}

report::Table classes_table(std::span<const ClassCounts> classes) {
  report::Table table(
      {{"class", report::Align::kLeft}, {"images"}, {"correct"}, {"recall"}, {"precision"}});
  for (const ClassCounts& c : classes) {
    // Of a thousand classes, those that appear.
    if (c.images == 0 && c.guessed == 0) continue;
    table.add_row({c.name, report::count_cell(c.images), report::count_cell(c.correct),
                   share_cell(c.correct, c.images), share_cell(c.correct, c.guessed)});
  }
  return table;
}

report::Table matrix_table(const train::Evaluation& test, std::span<const ClassCounts> classes) {
  std::vector<report::Column> columns = {{"is \\ taken for", report::Align::kLeft}};
  for (const ClassCounts& c : classes) columns.push_back({c.name});
  report::Table table(std::move(columns));
  for (int64_t truth = 0; truth < test.classes; ++truth) {
    std::vector<report::Cell> cells = {classes[static_cast<size_t>(truth)].name};
    for (int64_t guess = 0; guess < test.classes; ++guess) {
      cells.push_back(report::count_cell(count_at(test, truth, guess)));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

report::Table confusions_table(const train::Evaluation& test,
                               std::span<const ClassCounts> classes) {
  struct Confusion {
    int64_t images;
    size_t truth;
    size_t guess;
  };
  std::vector<Confusion> found;
  for (size_t truth = 0; truth < classes.size(); ++truth) {
    for (size_t guess = 0; guess < classes.size(); ++guess) {
      const int64_t images = test.confusion[truth * classes.size() + guess];
      if (truth != guess && images > 0) found.push_back({images, truth, guess});
    }
  }
  std::ranges::stable_sort(found, std::greater{}, &Confusion::images);
  found.resize(std::min(found.size(), kShownConfusions));
  report::Table table(
      {{"is", report::Align::kLeft}, {"taken for", report::Align::kLeft}, {"images"}});
  for (const Confusion& c : found) {
    table.add_row({classes[c.truth].name, classes[c.guess].name, report::count_cell(c.images)});
  }
  return table;
}

Json classes_json(std::span<const ClassCounts> classes) {
  Json list = Json::array();
  for (const ClassCounts& c : classes) {
    Json entry = Json::object(
        {{"name", c.name}, {"images", c.images}, {"guessed", c.guessed}, {"correct", c.correct}});
    if (c.images > 0) entry["recall"] = share(c.correct, c.images);
    if (c.guessed > 0) entry["precision"] = share(c.correct, c.guessed);
    list.push_back(std::move(entry));
  }
  return list;
}

Json matrix_json(const train::Evaluation& test) {
  Json rows = Json::array();
  for (int64_t truth = 0; truth < test.classes; ++truth) {
    Json row = Json::array();
    for (int64_t guess = 0; guess < test.classes; ++guess) {
      row.push_back(count_at(test, truth, guess));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

report::Document evaluation_document(const train::Evaluation& test,
                                     std::span<const std::string> class_names) {
  const std::vector<ClassCounts> classes = count_classes(test, class_names);
  const double speed = static_cast<double>(test.images) / std::max(test.seconds, 1e-9);
  report::Document document;
  report::Table scores(
      {{"images"}, {"loss"}, {"top-1"}, {"top-5"}, {"calibration error"}, {"images/s"}});
  scores.add_row(
      {report::count_cell(test.images), report::fixed_cell(test.score("loss"), 4),
       report::percent_cell(test.score("top1"), 2), report::percent_cell(test.score("top5"), 2),
       report::percent_cell(test.score("calibration_error"), 2), report::fixed_cell(speed, 0)});
  document.blocks.emplace_back(std::move(scores));
  document.blocks.emplace_back(report::Heading{"Classes"});
  document.blocks.emplace_back(classes_table(classes));
  document.blocks.emplace_back(report::Heading{"Confusion"});
  document.blocks.emplace_back(test.classes <= kWidestMatrix ? matrix_table(test, classes)
                                                             : confusions_table(test, classes));
  document.data = Json::object({{"images", test.images}, {"images_per_s", speed}});
  for (const train::Score& score : test.scores) document.data[score.name] = score.value;
  document.data["classes"] = classes_json(classes);
  document.data["confusion"] = matrix_json(test);
  return document;
}

}  // namespace trainyard::cli
