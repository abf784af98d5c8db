// What `data` shows of sets with boxes.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "report/document.h"

namespace trainyard::cli {

// Boxes by class, their sizes, pictures without any, and boxes that were cut off or left out.
void add_box_report(const data::Dataset& set, report::Document& document);

// The picture with its boxes and the names of their classes, in `room`.
data::PixelView with_boxes(const data::PixelView& picture, const std::vector<data::Box>& boxes,
                           const data::Dataset& set, data::Pixels& room);

}  // namespace trainyard::cli
