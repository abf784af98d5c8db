#include "cluster/transformer/launch_words.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace trainyard::transformer {
namespace {

constexpr size_t kLongestLine = 1 << 20;

// As a shell splits them, without variables.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char c : line) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\';
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (space) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  TY_REQUIRE(quote == 0, "launch: a quote {} is not closed", quote);
  if (open) words.push_back(std::move(word));
  return words;
}

std::string plain_flag(std::string_view flag) {
  std::string name(flag.substr(flag.find_first_not_of('-')));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_flag(std::string_view word) {
  // A number below 0 is a value.
  return word.size() > 2 && word.starts_with("--");
}

std::vector<LaunchWord> flags_of(const std::vector<std::string>& words) {
  std::vector<LaunchWord> out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    const size_t equals = words[i].find('=');
    if (equals != std::string::npos) {
      out.push_back({plain_flag(words[i].substr(0, equals)), words[i].substr(equals + 1)});
    } else if (i + 1 < words.size() && !is_flag(words[i + 1])) {
      out.push_back({plain_flag(words[i]), words[i + 1]});
      ++i;
    } else {
      out.push_back({plain_flag(words[i]), "true"});
    }
  }
  return out;
}

void flatten(const Json& json, const std::string& prefix, std::vector<LaunchWord>& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.members()) {
      flatten(value, prefix.empty() ? key : prefix + "." + key, out);
    }
    return;
  }
  out.push_back({prefix, json.is_string() ? json.as_string() : json.dump(-1)});
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// What of TOML torchtitan's files need: tables, and keys with a value in one line.
std::vector<LaunchWord> toml_words(std::string_view text, const std::string& origin) {
  std::vector<LaunchWord> out;
  std::string table;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      const size_t end = line.find(']');
      TY_REQUIRE(end != std::string::npos, "{}:{}: a table without ]", origin, number);
      table = trimmed(std::string_view(line).substr(1, end - 1));
      continue;
    }
    const size_t equals = line.find('=');
    TY_REQUIRE(equals != std::string::npos, "{}:{}: expected key = value, found '{}'", origin,
               number, line);
    std::string value = trimmed(std::string_view(line).substr(equals + 1));
    const bool quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'');
    if (quoted) {
      value = value.substr(1, value.find(value.front(), 1) - 1);
    } else {
      value = trimmed(value.substr(0, value.find('#')));
    }
    const std::string key = trimmed(std::string_view(line).substr(0, equals));
    out.push_back({table.empty() ? key : table + "." + key, value});
  }
  return out;
}

std::optional<std::string> file_of(const std::vector<LaunchWord>& words,
                                   std::initializer_list<std::string_view> names) {
  for (const LaunchWord& word : words) {
    if (std::ranges::find(names, word.name) != names.end() && word.value != "true") {
      return word.value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<LaunchWord> launch_words(std::string_view line,
                                     const std::function<std::string(const std::string&)>& read) {
  TY_REQUIRE(line.size() <= kLongestLine, "launch: longer than {} characters", kLongestLine);
  const std::vector<LaunchWord> flags = flags_of(shell_words(line));
  std::vector<LaunchWord> words;
  if (const auto file = file_of(flags, {"deepspeed", "deepspeed_config"})) {
    flatten(Json::parse(read(*file), *file), "", words);
  }
  if (const auto file = file_of(flags, {"job.config_file"})) {
    const std::vector<LaunchWord> toml = toml_words(read(*file), *file);
    words.insert(words.end(), toml.begin(), toml.end());
  }
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

}  // namespace trainyard::transformer
