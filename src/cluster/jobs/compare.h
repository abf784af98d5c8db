// The fields of one job over all platforms, lined up.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/jobs/description/draft.h"

namespace trainyard::jobs {

struct ComparedCell {
  std::string platform;
  std::string path;   // empty: it has no place there
  std::string value;  // or why it has none
};

struct ComparedRow {
  std::string field;
  std::vector<ComparedCell> cells;  // in the order of the renderings
};

// A row for each field that the job sets, in the order of job.yaml.
std::vector<ComparedRow> compare(const Job& job, std::span<const Rendering> renderings);

// What tells the platforms apart, counted from the rows: fields that all express, and for each
// platform what it alone lacks or alone has.
std::vector<std::string> differences(std::span<const ComparedRow> rows);

}  // namespace trainyard::jobs
