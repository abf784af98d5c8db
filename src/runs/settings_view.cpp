#include "runs/settings_view.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "runs/run_directory.h"

namespace trainyard::report {
namespace {

Table differences(std::span<const NamedSettings> runs) {
  std::vector<Column> columns = {{"setting", Align::kLeft}};
  for (const NamedSettings& run : runs) columns.push_back({run.name, Align::kLeft});
  Table table(std::move(columns));
  // Newer runs have settings that older ones do not know.
  std::vector<std::string> keys;
  for (const NamedSettings& run : runs) {
    for (const auto& [key, unused] : run.settings.members()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    std::set<std::string> values;
    std::vector<Cell> row = {key};
    for (const NamedSettings& run : runs) {
      const Json* value = run.settings.find(key);
      const std::string text = value == nullptr ? "-" : text_of_setting(*value);
      values.insert(text);
      row.emplace_back(text);
    }
    if (values.size() > 1) table.add_row(std::move(row));
  }
  return table;
}

}  // namespace

std::string name_of_run(const std::filesystem::path& directory) {
  return std::filesystem::weakly_canonical(directory).filename().string();
}

std::shared_ptr<const YamlDocument> open_settings(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "config.yaml";
  TY_REQUIRE(std::filesystem::exists(path),
             "{} is not the folder of a training run: there is no config.yaml in it.{}",
             directory.string(), runs::did_you_mean_run(directory));
  return YamlDocument::parse(read_file(path), path.string());
}

std::string text_of_setting(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump(-1);
}

Json read_machine(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "machine.json";
  return std::filesystem::exists(path) ? Json::parse(read_file(path), path.string()) : Json();
}

void add_differences(Document& document, std::span<const NamedSettings> runs) {
  document.blocks.emplace_back(Heading{"Settings that differ"});
  Table table = differences(runs);
  if (table.num_rows() > 0) {
    document.blocks.emplace_back(std::move(table));
  } else {
    document.blocks.emplace_back(Paragraph{"None: these are repetitions."});
  }
}

}  // namespace trainyard::report
