// How good detections are: average precision as Pascal VOC counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/detection/priors.h"

namespace trainyard::detect {

struct Truth {
  int64_t picture = 0;
  int64_t label = 0;
  Region region;
  // Neither found nor missed. Of COCO: a crowd, of which any part may be found.
  bool difficult = false;
};

struct Detection {
  int64_t picture = 0;
  int64_t label = 0;
  double score = 0;
  Region region;
};

struct ScoringOptions {
  double overlap = 0.5;  // that finds an object
  // 1: corners are pixels that belong to the box (VOC's development kit); 0: areas are continuous.
  double extra = 0;
  bool strict = false;  // an overlap of exactly `overlap` finds nothing
};

struct CurvePoint {
  double recall = 0;
  double precision = 0;
  double score = 0;
};

struct ClassResult {
  int64_t truths = 0;  // difficult ones do not count
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  // Nothing where there is no object to find.
  std::optional<double> eleven_point;  // VOC 2007: mean of the best precision at 11 recalls
  std::optional<double> every_point;   // VOC 2010: area under the falling hull of the curve
  std::vector<CurvePoint> curve;       // by falling score
};

struct VocResult {
  std::vector<ClassResult> classes;
  // Means over the classes that have objects; nothing if none has.
  std::optional<double> eleven_point;
  std::optional<double> every_point;
};

// Labels are in [0, classes). Detections are taken by falling score, of equal ones the first first;
// each is held against the object of its class that it overlaps most.
VocResult score_voc(std::span<const Truth> truths, std::span<const Detection> detections,
                    int64_t classes, const ScoringOptions& options);

// The two averages of a curve, of which recall rises.
double eleven_point_average(std::span<const CurvePoint> curve);
double every_point_average(std::span<const CurvePoint> curve);

}  // namespace trainyard::detect
