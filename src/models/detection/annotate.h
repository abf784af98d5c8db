// Found objects by name, and drawn on their picture.
#pragma once

#include <span>
#include <string>

#include "data/image.h"
#include "models/detection/exported.h"

namespace trainyard::detect {

// "class 7" where there is no name.
std::string label_of(int64_t label, std::span<const std::string> labels);

// The best first, so that its label lies on top.
void draw_objects(data::Image& image, std::span<const FoundObject> objects,
                  std::span<const std::string> labels);

// Makes a picture no larger than `side` in both directions, and moves the objects with it. Before
// drawing for a sheet: labels that shrink with their picture cannot be read.
void shrink_with_objects(data::Image& image, std::span<FoundObject> objects, int64_t side);

}  // namespace trainyard::detect
