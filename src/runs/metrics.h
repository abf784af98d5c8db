// metrics.jsonl: what a run measured, one JSON object per line, in the order of its steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace trainyard::runs {

// Appends whole lines; what was appended survives the process.
class MetricsWriter {
 public:
  // Continues behind `last_step` (0: a new run): lines of later steps and a torn last line are
  // removed, so that a resumed run leaves the lines of an uninterrupted one. A step's lines must
  // therefore be appended before its checkpoint is saved. Throws Failure if the file cannot be
  // written.
  MetricsWriter(const std::filesystem::path& path, int64_t last_step);

  // An object with a whole number "step" that never falls.
  void append(const Json& line);

 private:
  AppendFile file_;
  int64_t last_step_;
};

// The whole lines of a file; a torn last one is left out. Throws Error with file and line for one
// that is no object with a step.
std::vector<Json> read_metrics(const std::filesystem::path& path);

}  // namespace trainyard::runs
