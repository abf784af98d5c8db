#include "program/box_inspection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "data/boxes/box_statistics.h"
#include "data/image.h"
#include "data/image_grid.h"
#include "models/detection/draw.h"

namespace trainyard::cli {
namespace {

constexpr size_t kShownProblems = 20;

report::Table box_table(const data::Dataset& set, const data::BoxStatistics& boxes) {
  report::Table table({{"class", report::Align::kLeft, 40},
                       {"boxes"},
                       {"difficult"},
                       {"pictures"},
                       {"median width"},
                       {"height"},
                       {"width / height"}});
  for (size_t i = 0; i < boxes.classes.size(); ++i) {
    const data::ClassBoxes& own = boxes.classes[i];
    table.add_row(
        {set.class_names()[i], report::count_cell(own.boxes), report::count_cell(own.difficult),
         report::count_cell(own.pictures), report::fixed_cell(own.median_width, 0),
         report::fixed_cell(own.median_height, 0), report::fixed_cell(own.median_aspect, 2)});
  }
  return table;
}

Json boxes_json(const data::Dataset& set, const data::BoxStatistics& boxes) {
  Json classes = Json::array();
  for (size_t i = 0; i < boxes.classes.size(); ++i) {
    const data::ClassBoxes& own = boxes.classes[i];
    classes.push_back(Json::object({{"name", set.class_names()[i]},
                                    {"boxes", own.boxes},
                                    {"difficult", own.difficult},
                                    {"pictures", own.pictures},
                                    {"median_width", own.median_width},
                                    {"median_height", own.median_height},
                                    {"median_aspect", own.median_aspect}}));
  }
  return Json::object({{"total", boxes.boxes},
                       {"least_in_picture", boxes.least_in_picture},
                       {"most_in_picture", boxes.most_in_picture},
                       {"empty_pictures", boxes.empty_pictures},
                       {"small", boxes.small},
                       {"medium", boxes.boxes - boxes.small - boxes.large},
                       {"large", boxes.large},
                       {"classes", std::move(classes)},
                       {"invalid", Json::array_of(set.problems())}});
}

}  // namespace

void add_box_report(const data::Dataset& set, report::Document& document) {
  const data::BoxStatistics boxes = data::measure_boxes(set);
  document.blocks.emplace_back(box_table(set, boxes));
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} boxes, {} to {} in a picture; {} pictures have none. {} are small (below 32 "
                  "x 32 pixels), "
                  "{} large (96 x 96 and more).",
                  with_commas(boxes.boxes), boxes.least_in_picture, boxes.most_in_picture,
                  boxes.empty_pictures, with_commas(boxes.small), with_commas(boxes.large))});
  const std::span<const std::string> problems = set.problems();
  if (!problems.empty()) {
    const size_t shown = std::min(problems.size(), kShownProblems);
    document.blocks.emplace_back(report::Paragraph{
        fmt::format("{} boxes are not as they should be{}:\n  {}", problems.size(),
                    shown < problems.size() ? fmt::format(" (the first {})", shown) : "",
                    join(problems.first(shown), "\n  "))});
  }
  document.data["boxes"] = boxes_json(set, boxes);
}

data::PixelView with_boxes(const data::PixelView& picture, const std::vector<data::Box>& boxes,
                           const data::Dataset& set, data::Pixels& room) {
  data::Image image = data::to_image(picture);
  std::vector<detect::Mark> marks;
  for (const data::Box& box : boxes) {
    marks.push_back({.region = {static_cast<double>(box.left), static_cast<double>(box.top),
                                static_cast<double>(box.right), static_cast<double>(box.bottom)},
                     .label = set.class_names()[static_cast<size_t>(box.label)],
                     .color = box.label,
                     .dashed = box.difficult});
  }
  detect::draw_marks(image, marks);
  data::to_planes(image, room);
  return room.view();
}

}  // namespace trainyard::cli
