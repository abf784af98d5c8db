#include "runs/settings_lines.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/yaml.h"

namespace trainyard::runs {
namespace {

// Of lines that are kept, and of names in a file that is read by lines.
constexpr size_t kMostLines = 20'000;
constexpr size_t kMostNames = 1000;

std::string_view first_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

bool begins_name(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

}  // namespace

// A value that goes on in the next lines does not parse alone, or its next line is indented, which
// parse() sees.
const SettingsLines::Line& SettingsLines::line_of(std::string_view text) {
  if (known_.size() > kMostLines) known_.clear();
  const auto [at, added] = known_.try_emplace(std::string(text));
  Line& line = at->second;
  if (!added) return line;
  try {
    const auto document = YamlDocument::parse_without_aliases(text, "a line");
    const Json& whole = document->json();
    if (!whole.is_object() || whole.members().size() != 1) return line;
    line.name = whole.members()[0].first;
    line.value = whole.members()[0].second;
    line.stands_alone = true;
  } catch (const Error&) {
    // The parser of the whole file says what is wrong, if anything is.
  }
  return line;
}

Json SettingsLines::parse(std::string_view text, const std::string& origin) {
  const auto by_lines = [&]() -> std::optional<Json> {
    Json::Object settings;
    std::unordered_set<std::string_view> names;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = first_line(rest);
      if (line.empty() || line.front() == '#') continue;
      if (!begins_name(line.front()) || settings.size() >= kMostNames) return std::nullopt;
      const Line& parsed = line_of(line);
      if (!parsed.stands_alone) return std::nullopt;
      settings.emplace_back(parsed.name, parsed.value);
    }
    for (const auto& [name, value] : settings) {
      if (!names.insert(name).second) return std::nullopt;
    }
    return Json::object_of(std::move(settings));
  };
  if (std::optional<Json> settings = by_lines()) return std::move(*settings);
  const auto document = YamlDocument::parse_without_aliases(text, origin);
  TY_REQUIRE(document->json().is_object(), "{}: expected names and values", origin);
  return document->json();
}

}  // namespace trainyard::runs
