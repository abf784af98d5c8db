// What goes wrong: which mistakes a detector makes, and in which pictures.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "detect/scoring.h"

namespace trainyard::detect {

// Of detections with at least a score.
struct ErrorKinds {
  int64_t correct = 0;
  int64_t duplicate = 0;     // of an object that a better one has found
  int64_t localization = 0;  // the right class, but an overlap of only 0.1 or more
  int64_t confusion = 0;     // at an object of another class
  int64_t background = 0;    // at nothing
  int64_t missed = 0;        // objects that nothing found

  int64_t mistakes() const { return duplicate + localization + confusion + background + missed; }
};

struct PictureErrors {
  int64_t picture = 0;
  ErrorKinds kinds;
};

struct ErrorReport {
  ErrorKinds all;
  std::vector<PictureErrors> pictures;  // with mistakes, most of them first
};

// Takes detections by falling score. Difficult objects neither count nor are missed.
ErrorReport count_errors(std::span<const Truth> truths, std::span<const Detection> detections,
                         double least_score, const ScoringOptions& options);

}  // namespace trainyard::detect
