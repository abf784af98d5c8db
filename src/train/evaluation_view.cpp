#include "train/evaluation_view.h"

#include <algorithm>

#include "runs/confusion.h"

namespace trainyard::cli {

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

}  // namespace trainyard::cli
