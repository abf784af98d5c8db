// The settings that a search tries: ranges and choices, and points in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/train_config.h"

namespace trainyard::recipes {

struct Dimension {
  std::string setting;  // "learning_rate"
  // A range of numbers, or choices.
  double low = 0;
  double high = 0;
  bool log = false;    // drawn evenly by ratios
  bool whole = false;  // whole numbers
  std::vector<std::string> choices = {};

  // The value at a share of the way, from 0 to 1, as it is written in a file of settings.
  std::string at(double share) const;
  // The way back: where in the range or among the choices a value is.
  double share_of(const std::string& value) const;
};

// One value for each dimension.
using Point = std::vector<std::string>;

// "learning-rate=log:1e-4..1e-1,momentum=0.8..0.95,batch=32|64|128": settings of train, by their
// flags. Throws Error with the nearest name for an unknown setting, and for ranges and choices that
// the setting does not take.
std::vector<Dimension> parse_space(std::string_view text);

// The point of a trial, drawn by the seed and its number alone.
Point draw_point(const std::vector<Dimension>& space, uint64_t seed, int64_t trial);

// All choices with all others; of ranges so many values, both ends among them. Throws Error if
// there are more than `most`.
std::vector<Point> grid_of(const std::vector<Dimension>& space, int64_t values, int64_t most);

// The settings with the values of a point. Throws Error for values that they do not take.
train::TrainConfig with_point(const train::TrainConfig& config, const std::vector<Dimension>& space,
                              const Point& point);

}  // namespace trainyard::recipes
