// How good detections are, as COCO counts it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "detect/scoring.h"

namespace trainyard::detect {

// Nothing where there is no object of the kind. Areas of objects: below 32 x 32 pixels they are
// small, below 96 x 96 medium, else large.
struct CocoResult {
  std::optional<double> average;  // precision over overlaps 0.5, 0.55, …, 0.95
  std::optional<double> average_50;
  std::optional<double> average_75;
  std::optional<double> small;
  std::optional<double> medium;
  std::optional<double> large;
  std::optional<double> recall;                // with the best 100 detections of a picture
  std::vector<std::optional<double>> classes;  // `average` of each
};

// Precision at 101 recalls; the best 100 detections of each class in a picture count. Truths that
// are difficult are crowds: a detection inside of one counts neither way.
CocoResult score_coco(std::span<const Truth> truths, std::span<const Detection> detections,
                      int64_t classes);

}  // namespace trainyard::detect
