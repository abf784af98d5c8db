#include "cluster/schedule/speed/run_speed.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "runs/metrics.h"

namespace trainyard::schedule {

SpeedPoint speed_of_run(const std::filesystem::path& folder) {
  const std::filesystem::path config = folder / "config.yaml";
  const auto document = YamlDocument::parse(read_file(config), config.string());
  constexpr int64_t kMostRanks = 1'000'000;
  SpeedPoint point;
  point.workers = document->root().count_or("workers", 1, 1, kMostRanks);
  const auto servers = document->root().count_or("servers", 0, 0, kMostRanks);
  point.servers = servers > 0 ? servers : point.workers;
  std::vector<double> seconds;
  for (const Json& line : runs::read_metrics(folder / "metrics.jsonl")) {
    const Json* step = line.find("step_ms");
    if (step != nullptr && step->is_number()) seconds.push_back(step->as_number() / 1e3);
  }
  TY_REQUIRE(!seconds.empty(), "{}: no times of steps in metrics.jsonl", folder.string());
  const auto warm = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 10);
  const auto middle = warm + (seconds.end() - warm) / 2;
  std::nth_element(warm, middle, seconds.end());
  point.steps_per_s = 1 / *middle;
  return point;
}

}  // namespace trainyard::schedule
