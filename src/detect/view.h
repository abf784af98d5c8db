// What `detect score` and `evaluate` say about detections.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "detect/scoring.h"
#include "report/document.h"

namespace trainyard::cli {

struct DetectionReport {
  // "11-point", "every-point" or "coco".
  std::string metric = "11-point";
  detect::ScoringOptions options;
  // Mistakes are counted among detections with at least this score.
  double threshold = 0.5;
};

// Names of metrics, for flags.
const std::vector<std::string>& detection_metrics();

// Tables of classes and mistakes, curves, and the pictures with the most mistakes; JSON with map,
// metric, iou and classes.
report::Document detection_document(std::span<const detect::Truth> truths,
                                    std::span<const detect::Detection> detections,
                                    const std::vector<std::string>& class_names,
                                    const std::vector<std::string>& pictures,
                                    const DetectionReport& request);

}  // namespace trainyard::cli
