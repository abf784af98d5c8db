#include "base/settings.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/yaml.h"

namespace trainyard {
namespace {

std::string value_text(const Settings::Variable& variable) {
  // Text is quoted, so that a name such as 1080 or true stays text. Numbers are written by fmt:
  // JSON has no infinities, YAML has.
  struct Writer {
    std::string operator()(const std::string* text) const { return Json(*text).dump(-1); }
    std::string operator()(const int64_t* number) const { return fmt::format("{}", *number); }
    std::string operator()(const double* number) const { return fmt::format("{}", *number); }
    std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
  };
  return std::visit(Writer(), variable);
}

void read_value(const YamlView& view, const Settings::Variable& variable) {
  struct Assign {
    const YamlView& from;
    void operator()(std::string* text) const { *text = from.text(); }
    void operator()(int64_t* number) const { *number = from.integer(); }
    void operator()(double* number) const { *number = from.number(); }
    void operator()(bool* flag) const { *flag = from.boolean(); }
  };
  std::visit(Assign{view}, variable);
}

}  // namespace

std::string flag_of_setting(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string setting_of_flag(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::string read_settings_file(const std::string& path) {
  std::string text = read_file(path);
  TY_REQUIRE(text.find_first_not_of(" \t\r\n") != std::string::npos, "{}: the file is empty", path);
  return text;
}

void Settings::add(std::string name, Variable variable, std::string help) {
  for (const Setting& setting : settings_) {
    TY_CHECK(setting.name != name, "the setting '{}' is there already", name);
  }
  settings_.push_back({std::move(name), variable, std::move(help)});
}

void Settings::read_yaml(std::string_view text, const std::string& origin,
                         const std::set<std::string>& given) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  std::vector<std::string> names;
  for (const Setting& setting : settings_) names.push_back(setting.name);
  root.only(names);
  for (const Setting& setting : settings_) {
    const auto value = root.find(setting.name);
    if (value && !given.contains(setting.name)) read_value(*value, setting.variable);
  }
}

std::string Settings::to_yaml() const {
  std::string text;
  for (const Setting& setting : settings_) {
    text += fmt::format("{}: {}  # {}\n", setting.name, value_text(setting.variable), setting.help);
  }
  return text;
}

std::vector<std::string> Settings::arguments(const std::set<std::string>& given,
                                             Switches switches) const {
  std::vector<std::string> arguments;
  for (const Setting& setting : settings_) {
    const std::string flag = flag_of_setting(setting.name);
    if (!given.contains(flag)) continue;
    if (const auto* on = std::get_if<bool*>(&setting.variable)) {
      if (switches == Switches::kOnOrOff) {
        arguments.insert(arguments.end(), {"--" + flag, **on ? "on" : "off"});
      } else if (**on) {
        arguments.push_back("--" + flag);
      }
      continue;
    }
    arguments.push_back("--" + flag);
    // Numbers as in a file, which restores every bit; a text is an argument of its own and needs no
    // quotes.
    const auto* text = std::get_if<std::string*>(&setting.variable);
    arguments.push_back(text != nullptr ? **text : value_text(setting.variable));
  }
  return arguments;
}

std::vector<std::string> Settings::lines() const {
  std::vector<std::string> lines;
  for (const Setting& setting : settings_) {
    lines.push_back(fmt::format("{}: {}", setting.name, value_text(setting.variable)));
  }
  return lines;
}

std::string Settings::differences(const Settings& asked) const {
  const std::vector<std::string> own = lines();
  const std::vector<std::string> others = asked.lines();
  TY_CHECK(own.size() == others.size(), "{} and {} settings", own.size(), others.size());
  std::string list;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] != others[i]) list += fmt::format("\n  {}, asked for: {}", own[i], others[i]);
  }
  return list;
}

std::string Settings::hash() const {
  std::string text;
  for (const std::string& line : lines()) text += line + '\n';
  return fmt::format("{:016x}", hash_text(text));
}

}  // namespace trainyard
