#include <algorithm>

#include "runs/confusion.h"
#include "train/view.h"

namespace trainyard::cli {

namespace {

// A row of all scores, and how many of a unit were judged in a second.
report::Document scores_document(const train::Evaluation& test, const std::string& unit,
                                 int64_t count) {
  const double speed = static_cast<double>(count) / std::max(test.seconds, 1e-9);
  std::vector<report::Column> columns = {{unit}};
  std::vector<report::Cell> cells = {report::count_cell(count)};
  report::Document document;
  document.data = Json::object({{unit, count}, {unit + "_per_s", speed}});
  for (const train::Score& score : test.scores) {
    std::string name = score.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    columns.push_back({std::move(name)});
    cells.push_back(report::fixed_cell(score.value, 4));
    document.data[score.name] = score.value;
  }
  columns.push_back({unit + "/s"});
  cells.push_back(report::fixed_cell(speed, 0));
  report::Table table(std::move(columns));
  table.add_row(std::move(cells));
  document.blocks.emplace_back(std::move(table));
  return document;
}

}  // namespace

report::Document evaluation_document(const train::Evaluation& test,
                                     std::span<const std::string> class_names) {
  const report::Confusion confusion(test.confusion, class_names);
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
  document.blocks.emplace_back(confusion.classes_table());
  document.blocks.emplace_back(report::Heading{"Confusion"});
  if (!confusion.is_wide()) document.blocks.emplace_back(confusion.matrix_table());
  document.blocks.emplace_back(confusion.confused_table());
  document.data = Json::object({{"images", test.images}, {"images_per_s", speed}});
  for (const train::Score& score : test.scores) document.data[score.name] = score.value;
  document.data["classes"] = confusion.classes_json();
  document.data["confusion"] = confusion.matrix_json();
  return document;
}

report::Document number_document(const train::Evaluation& test) {
  return scores_document(test, "rows", test.images);
}

report::Document token_document(const train::Evaluation& test, int64_t length) {
  return scores_document(test, "tokens", test.images * length);
}

}  // namespace trainyard::cli
