#include "cluster/jobs/overview.h"

#include <fmt/format.h>

#include "base/yaml.h"
#include "cluster/jobs/embedded.h"

namespace trainyard::jobs {
namespace {

std::shared_ptr<const YamlDocument> overview_file() {
  return YamlDocument::parse(embedded_file("platforms.yaml"), "platforms.yaml");
}

}  // namespace

std::vector<OverviewPlatform> overview_platforms() {
  const auto file = overview_file();
  std::vector<OverviewPlatform> platforms;
  for (const auto& [id, title] : file->root().at("platforms").members()) {
    platforms.push_back({id, title.text()});
  }
  return platforms;
}

std::vector<OverviewRow> overview() {
  const auto file = overview_file();
  const std::vector<OverviewPlatform> platforms = overview_platforms();
  std::vector<OverviewRow> rows;
  for (const YamlView& section : file->root().at("sections").items()) {
    const YamlView sources = section.at("sources");
    for (const auto& [topic, cells] : section.at("topics").members()) {
      OverviewRow row{section.at("title").text(), topic, {}};
      for (const OverviewPlatform& platform : platforms) {
        const YamlView source = sources.at(platform.id);
        row.cells.push_back({platform.id, cells.at(platform.id).text(), source.at("source").text(),
                             source.at("date").text()});
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace trainyard::jobs
