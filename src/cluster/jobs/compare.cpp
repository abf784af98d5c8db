#include "cluster/jobs/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::jobs {
namespace {

// An empty path says that the platform does not express the field; the text then says why.
ComparedCell cell_of(const std::string& field, const Rendering& rendering) {
  for (const Note& missing : rendering.missing) {
    if (missing.field == field) return {rendering.platform, "", missing.text};
  }
  for (const FieldMapping& known : rendering.fields) {
    if (known.field == field) return {rendering.platform, known.path, known.value};
  }
  return {rendering.platform, "", ""};
}

}  // namespace

std::vector<ComparedRow> compare(const Job& job, std::span<const Rendering> renderings) {
  const std::vector<std::string> set = set_fields(job);
  std::vector<ComparedRow> rows;
  for (const std::string& field : all_fields()) {
    if (std::find(set.begin(), set.end(), field) == set.end()) continue;
    ComparedRow row{field, {}};
    for (const Rendering& rendering : renderings) row.cells.push_back(cell_of(field, rendering));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> differences(std::span<const ComparedRow> rows) {
  std::vector<std::string> everywhere;
  std::vector<std::string> lines;
  for (const ComparedRow& row : rows) {
    std::vector<std::string> with;
    std::vector<std::string> without;
    for (const ComparedCell& cell : row.cells) {
      (cell.path.empty() ? without : with).push_back(cell.platform);
    }
    if (without.empty()) {
      everywhere.push_back(row.field);
    } else if (with.size() == 1) {
      lines.push_back(fmt::format("{}: {} alone", row.field, with[0]));
    } else {
      lines.push_back(fmt::format("{}: not {}", row.field, join(without, ", ")));
    }
  }
  lines.insert(lines.begin(), fmt::format("everywhere: {}", join(everywhere, ", ")));
  return lines;
}

}  // namespace trainyard::jobs
