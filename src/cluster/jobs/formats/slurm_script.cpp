#include "cluster/jobs/formats/slurm_script.h"

#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"

namespace trainyard::jobs::slurm {
namespace {

constexpr std::string_view kMark = "#SBATCH";

// The short forms of sbatch's options that jobs use.
const std::map<char, std::string_view>& short_options() {
  static const std::map<char, std::string_view> kOptions = {
      {'J', "job-name"},   {'N', "nodes"},      {'n', "ntasks"},  {'c', "cpus-per-task"},
      {'t', "time"},       {'p', "partition"},  {'A', "account"}, {'q', "qos"},
      {'C', "constraint"}, {'o', "output"},     {'e', "error"},   {'D', "chdir"},
      {'a', "array"},      {'d', "dependency"}, {'x', "exclude"}, {'w', "nodelist"},
      {'L', "licenses"},   {'G', "gpus"},       {'H', "hold"},    {'W', "wait"}};
  return kOptions;
}

// As sbatch tells them: "#SBATCH" alone or followed by a blank, at the beginning of a line.
bool is_option_line(const std::string& line) {
  return line.starts_with(kMark) &&
         (line.size() == kMark.size() || line[kMark.size()] == ' ' || line[kMark.size()] == '\t');
}

// One option from words[at], which is left at its last word; as "name": value.
std::string option_at(const std::vector<std::string>& words, size_t& at, const std::string& where) {
  const std::string& word = words[at];
  TY_REQUIRE(word.size() > 1 && word[0] == '-', "{}: expected an option, found '{}'", where, word);
  // A word that begins with a dash is the next option, so negative values need the form with '='.
  const bool has_next = at + 1 < words.size() && !words[at + 1].starts_with('-');
  std::string name;
  Json value = true;
  if (word.starts_with("--")) {
    const size_t equals = word.find('=');
    name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (has_next) {
      value = words[++at];
    }
  } else {
    const auto known = short_options().find(word[1]);
    TY_REQUIRE(known != short_options().end(), "{}: there is no option '{}'", where, word);
    name = known->second;
    if (word.size() > 2) {
      value = word.substr(2);
    } else if (has_next) {
      value = words[++at];
    }
  }
  return fmt::format("{}: {}, ", Json("--" + name).dump(-1), value.dump(-1));
}

}  // namespace

// By its first line, or by an option line anywhere.
bool is_script(std::string_view text) {
  if (text.starts_with("#!")) return true;
  return text.starts_with(kMark) || text.find(fmt::format("\n{}", kMark)) != std::string_view::npos;
}

// Options become keys of a YAML map that keeps the lines of the script, so that findings point to
// the right line. sbatch stops reading options at the first command.
std::string as_yaml(std::string_view text, const std::string& origin) {
  std::string out = "{";
  int number = 0;
  bool commands = false;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (number > 1) out += '\n';
    commands = commands || !(line.empty() || line[0] == '#');
    if (commands || !is_option_line(line)) continue;
    const std::string where = fmt::format("{}:{}", origin, number);
    std::vector<std::string> words;
    try {
      words = shell_words(line.substr(kMark.size()));
    } catch (const Error& problem) {
      throw_error("{}: {}", where, problem.what());
    }
    for (size_t i = 0; i < words.size() && !words[i].starts_with('#'); ++i) {
      out += option_at(words, i, where);
    }
  }
  return out + "\"script\": " + Json(text).dump(-1) + "}";
}

void check_order(std::string_view text, Findings& findings) {
  bool commands = false;
  int number = 0;
  if (!text.starts_with("#!")) {
    findings.add({Severity::kError, 1, "", "the first line names no interpreter, as #!/bin/bash"});
  }
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (commands && is_option_line(line)) {
      findings.add({Severity::kError, number, "",
                    "behind the first command, where sbatch does not read it"});
    }
    commands = commands || !(line.empty() || line[0] == '#');
  }
}

// Empty if there is none, or if it does not end. The inverse of array_line.
std::vector<std::string> array_in(const std::string& script, std::string_view name) {
  const std::string begin = fmt::format("{}=(", name);
  // Words may hold line breaks: to the closing bracket that no quote hides.
  size_t at = script.starts_with(begin) ? 0 : script.find("\n" + begin);
  if (at == std::string::npos) return {};
  at = script.find('(', at) + 1;
  char quote = 0;
  for (size_t end = at; end < script.size(); ++end) {
    const char c = script[end];
    if (quote == 0 && c == ')') return shell_words(script.substr(at, end - at));
    if (quote == 0 && c == '\\') {
      ++end;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return {};
}

std::string array_line(std::string_view name, const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return fmt::format("{}=({})", name, join(quoted, " "));
}

}  // namespace trainyard::jobs::slurm
