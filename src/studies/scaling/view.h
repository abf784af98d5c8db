// The tables of `trainyard scale`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/document.h"
#include "studies/scaling/scale_rows.h"

namespace trainyard::report {

struct ScalePrediction {
  int64_t workers = 1;
  int64_t batch = 1;  // of one worker
  double step_s = 0;
};

// The largest batch of one worker whose predicted memory is within the limit, and what running it
// took.
struct LargestBatch {
  int64_t limit_bytes = 0;
  int64_t batch = 0;  // 0: not even one image fits
  int64_t predicted_bytes = 0;
  int64_t measured_bytes = 0;  // what the process's largest resident set grew by
};

struct ScaleReport {
  std::string model;
  std::string data;
  int64_t threads = 1;       // of one worker
  bool whole_epochs = true;  // false: epochs are extrapolated from the measured steps
  std::vector<measure::ScalePoint> points;
  measure::ScaleSettings settings;
  Json all_reduce;  // {rows, fabrics} of a message of all gradients; null: none
  std::vector<ScalePrediction> predictions;
  std::string prediction_note;  // where they come from, or why there are none
  std::optional<LargestBatch> largest;
};

// {workers, batch, steps, step_s, data_s, …}, and back.
Json scale_point_json(const measure::ScalePoint& point);
measure::ScalePoint scale_point_from_json(const Json& data);

Document scale_document(const ScaleReport& report);

}  // namespace trainyard::report
