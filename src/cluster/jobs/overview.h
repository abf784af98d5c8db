// The services side by side: what catalog/jobs/platforms.yaml knows of them.
#pragma once

#include <string>
#include <vector>

namespace trainyard::jobs {

struct OverviewCell {
  std::string platform;
  std::string text;
  std::string source;
  std::string date;  // of what was read
};

struct OverviewRow {
  std::string section;
  std::string topic;
  std::vector<OverviewCell> cells;  // one per platform, in the order of platforms()
};

// Platforms that the overview knows, with their titles.
struct OverviewPlatform {
  std::string id;
  std::string title;
};

std::vector<OverviewPlatform> overview_platforms();
std::vector<OverviewRow> overview();

}  // namespace trainyard::jobs
