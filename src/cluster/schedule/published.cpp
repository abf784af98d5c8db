#include "cluster/schedule/published.h"

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/error.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"

namespace trainyard::schedule {
namespace {

CsvTable catalog_table(std::string_view name) {
  return CsvTable::parse(embedded_text(predict::embedded_files(), name), std::string(name));
}

std::vector<std::string> names_of(const CsvTable& table, std::string_view column) {
  std::vector<std::string> names;
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string& name = table.row(i).text(column);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> published_curve_names() {
  return names_of(catalog_table("training/curves.csv"), "run");
}

Curve published_curve(std::string_view name) {
  const CsvTable table = catalog_table("training/curves.csv");
  Curve found;
  found.name = name;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    if (row.text("run") != name) continue;
    found.depth = row.number("depth");
    found.k.push_back(row.number("epoch"));
    found.loss.push_back(row.number("loss"));
    found.rate.push_back(row.number("learning_rate"));
    found.accuracy.push_back(row.maybe_number("accuracy").value_or(NAN));
  }
  const std::vector<std::string> names = names_of(table, "run");
  TY_REQUIRE(!found.k.empty(), "no published curve '{}'.{} Known: {}", name,
             did_you_mean(name, names), join(names, ", "));
  return found;
}

std::vector<std::string> published_speed_models() {
  return names_of(catalog_table("training/parameter_server_speeds.csv"), "model");
}

PublishedSpeeds published_speeds(std::string_view model) {
  const CsvTable table = catalog_table("training/parameter_server_speeds.csv");
  PublishedSpeeds found;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    if (row.text("model") != model) continue;
    found.batch = row.number("batch");
    found.points.push_back(
        {row.integer("servers"), row.integer("workers"), row.number("images_per_s") / found.batch});
  }
  const std::vector<std::string> names = names_of(table, "model");
  TY_REQUIRE(!found.points.empty(), "no published speeds of '{}'.{} Known: {}", model,
             did_you_mean(model, names), join(names, ", "));
  return found;
}

std::string_view published_jobs(std::string_view name) {
  TY_REQUIRE(name == "tiresias-60", "no published jobs '{}'. Known: tiresias-60", name);
  return embedded_text(predict::embedded_files(), "training/tiresias_60_jobs.csv");
}

}  // namespace trainyard::schedule
