// What a run directory says of a run of any kind: its name, settings and machine.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/yaml.h"
#include "report/document.h"

namespace trainyard::report {

std::string name_of_run(const std::filesystem::path& directory);

using Settings = Json;  // an object
// config.yaml, whose errors name its lines. Throws Error naming a folder that has none.
std::shared_ptr<const YamlDocument> open_settings(const std::filesystem::path& directory);
std::string text_of_setting(const Json& value);

// Null if the run did not record it.
Json read_machine(const std::filesystem::path& directory);

struct NamedSettings {
  std::string name;
  Settings settings;
};
// The settings in which the runs differ, or that there are none.
void add_differences(Document& document, std::span<const NamedSettings> runs);

}  // namespace trainyard::report
