// Traces of Gavel's simulator: a line per job without a header, fields between tabs, and measured
// steps per second in a JSON file beside them.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "cluster/schedule/workload.h"

namespace trainyard::schedule {
namespace {

// Which field is what, by how many there are: traces of three ages.
struct Layout {
  size_t fields;
  size_t steps;
  size_t gpus;
  size_t arrival;
  size_t weight;  // 0: none
};
constexpr std::array<Layout, 3> kLayouts = {{{7, 4, 6, 5, 0}, {9, 4, 5, 8, 6}, {10, 5, 6, 9, 7}}};

double number_at(const std::vector<std::string>& fields, size_t index, std::string_view what,
                 double least, const std::string& place) {
  const std::string& text = fields[index];
  const auto value = parse_number<double>(text);
  TY_REQUIRE(value && *value >= least && *value < 1e15,
             "{}: field {} ({}) is '{}', expected a number from {:g}", place, index + 1, what, text,
             least);
  return *value;
}

// Steps per second of a gang on a device. What was not measured (or is 0, as for gangs that were
// out of memory) is that of the largest smaller gang, times the devices; 0 if there is none.
double gang_speed(const Json& measured, const std::string& model, int32_t gpus) {
  for (int32_t size = gpus; size >= 1; --size) {
    const Json* entry = measured.find(fmt::format("('{}', {})", model, size));
    const Json* alone = entry == nullptr ? nullptr : entry->find("null");
    if (alone != nullptr && alone->as_number() > 0) return alone->as_number() * gpus / size;
  }
  return 0;
}

Job read_line(const std::vector<std::string>& fields, const Json& throughputs,
              const std::vector<std::string>& types, const std::string& place) {
  const auto* const found = std::find_if(kLayouts.begin(), kLayouts.end(), [&](const Layout& one) {
    return one.fields == fields.size();
  });
  TY_REQUIRE(found != kLayouts.end(), "{}: {} fields between tabs, expected 7, 9 or 10", place,
             fields.size());
  const Layout& layout = *found;
  Job job;
  job.model = fields[0];
  const double gpus = number_at(fields, layout.gpus, "GPUs", 1, place);
  TY_REQUIRE(gpus <= 4096 && gpus == std::floor(gpus),
             "{}: field {} (GPUs) is '{}', expected a whole number up to 4096", place,
             layout.gpus + 1, fields[layout.gpus]);
  job.gang = job.most_workers = static_cast<int32_t>(gpus);
  job.rigid = true;
  job.worker = {0, 1, 0, 0};
  job.arrival = number_at(fields, layout.arrival, "arrival", 0, place);
  if (layout.weight > 0) job.weight = number_at(fields, layout.weight, "weight", 1e-9, place);
  std::vector<double> speeds;
  for (const std::string& type : types) {
    speeds.push_back(gang_speed(throughputs.at(type), job.model, job.gang));
    TY_REQUIRE(speeds.back() > 0, "{}: the throughputs have nothing for '{}' on {}", place,
               job.model, type);
  }
  const double steps = number_at(fields, layout.steps, "steps", 1, place);
  job.progress = std::make_shared<SteadyProgress>(steps, std::move(speeds));
  return job;
}

}  // namespace

Workload workload_from_gavel(std::string_view text, const std::string& origin,
                             const Json& throughputs, const TableDefaults& defaults) {
  Workload workload;
  workload.name = std::filesystem::path(origin).stem().string();
  workload.cluster.types.clear();
  for (const auto& [type, entries] : throughputs.members()) {
    // Gangs spread over more nodes than they need; speeds here do not depend on placement.
    if (!type.ends_with("_unconsolidated")) workload.cluster.types.push_back(type);
  }
  TY_REQUIRE(!workload.cluster.types.empty(), "the throughputs name no device");
  for (size_t type = 0; type < workload.cluster.types.size(); ++type) {
    workload.cluster.nodes.insert(
        workload.cluster.nodes.end(), static_cast<size_t>(defaults.nodes),
        Node{{0, defaults.gpus_per_node, 0, 0}, static_cast<int32_t>(type), true});
  }
  size_t line = 0;
  for (const std::string& row : split(text, '\n')) {
    line += 1;
    if (row.empty()) continue;
    Job job = read_line(split(row, '\t'), throughputs, workload.cluster.types,
                        fmt::format("{}:{}", origin, line));
    job.id = fmt::format("{}", line - 1);
    workload.jobs.push_back(std::move(job));
  }
  TY_REQUIRE(!workload.jobs.empty(), "{}: no jobs", origin);
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  workload.options.interval = 360;
  return workload;
}

}  // namespace trainyard::schedule
