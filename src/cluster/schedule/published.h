// Curves, speeds and jobs of the catalog, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule/loss/depth.h"
#include "cluster/schedule/speed/speed_model.h"

namespace trainyard::schedule {

// "published:NAME" anywhere a file of a curve, of speeds or of jobs is expected.
constexpr std::string_view kPublished = "published:";

// Throw Error with the nearest names.
Curve published_curve(std::string_view name);
std::vector<std::string> published_curve_names();

struct PublishedSpeeds {
  double batch = 1;
  std::vector<SpeedPoint> points;
};
PublishedSpeeds published_speeds(std::string_view model);
std::vector<std::string> published_speed_models();

// The text of a table of gangs.
std::string_view published_jobs(std::string_view name);

}  // namespace trainyard::schedule
