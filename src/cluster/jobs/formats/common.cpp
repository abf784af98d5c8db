#include "cluster/jobs/formats/common.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cluster/jobs/description/secrets.h"

namespace trainyard::jobs {

// A name that a platform would refuse is fixed and noted rather than refused: one description is
// rendered for platforms whose rules contradict each other.
std::string name_for(Draft& draft, const NameRule& rule, std::string_view title) {
  const std::string& wanted = draft.job().name;
  std::string name = fixed_name(wanted, rule);
  if (name.empty()) {
    draft.job().fail("name",
                     fmt::format("nothing of '{}' is left that {} would take", wanted, title));
  }
  if (name != wanted) {
    draft.note("name", fmt::format("'{}' became '{}': {} would refuse it", wanted, name, title));
  }
  return name;
}

Pairs tags_for(Draft& draft, const NameRule& rule, std::string_view title) {
  Pairs tags;
  for (const auto& [key, value] : draft.job().tags) {
    std::string fixed_key = fixed_name(key, rule);
    std::string fixed_value = fixed_name(value, rule);
    if (fixed_key.empty())
      draft.job().fail("tags." + key, fmt::format("{} would refuse it", title));
    if (fixed_key != key || fixed_value != value) {
      draft.note("tags." + key, fmt::format("'{}: {}' became '{}: {}', as {} wants it", key, value,
                                            fixed_key, fixed_value, title));
    }
    tags.emplace_back(std::move(fixed_key), std::move(fixed_value));
  }
  return tags;
}

// Data stays where it is. A platform that cannot reach it gets the URI as it is and a note of what
// to give instead; only the user knows where a copy would lie.
bool reachable(Draft& draft, std::string_view kind, const DataPlace& place,
               const std::vector<std::string_view>& schemes, const Format& format) {
  const std::string scheme = parse_uri(place.uri).scheme;
  if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) return true;
  std::vector<std::string> wanted;
  for (const std::string_view known : schemes) {
    wanted.push_back(known.empty() ? "a path" : fmt::format("{}://", known));
  }
  const std::string field =
      kind == "checkpoints" ? std::string(kind) : fmt::format("{}.{}", kind, place.name);
  draft.note(field, fmt::format("{} does not reach {}; give {} under platforms.{}.uris.{}. The "
                                "command is handed the URI as it is",
                                format.title, place.uri, join(wanted, " or "), format.options,
                                place.name));
  return false;
}

std::string needed_image(const Job& job, const Format& format) {
  std::string image = job.image_for(format.options);
  if (image.empty()) {
    job.fail("image", fmt::format("{} runs a container: name its image here or under "
                                  "platforms.{}.image",
                                  format.title, format.options));
  }
  return image;
}

std::string command_line(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return join(quoted, " ");
}

std::vector<std::string> launched_on_node(const Job& job, const std::vector<std::string>& words) {
  if (job.launcher == Launcher::kNone) return words;
  std::vector<std::string> out =
      job.launcher == Launcher::kMpi
          ? std::vector<std::string>{"mpirun", "-n", std::to_string(job.processes_per_node)}
          : std::vector<std::string>{"torchrun", "--nproc-per-node",
                                     std::to_string(job.processes_per_node), "--no-python"};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

// The inverse of launched_on_node, so that an imported file comes back as the same description.
std::vector<std::string> without_launcher(const std::vector<std::string>& words, Job& job) {
  const bool mpi = words.size() > 3 && words[0] == "mpirun" && words[1] == "-n";
  const bool torch = words.size() > 4 && words[0] == "torchrun" && words[1] == "--nproc-per-node" &&
                     words[3] == "--no-python";
  if (!mpi && !torch) return words;
  const std::string& count = words[2];
  const auto result =
      std::from_chars(count.data(), count.data() + count.size(), job.processes_per_node);
  TY_REQUIRE(result.ec == std::errc() && job.processes_per_node > 0,
             "'{} {} {}': expected a number of processes", words[0], words[1], count);
  job.launcher = mpi ? Launcher::kMpi : Launcher::kTorch;
  return {words.begin() + (mpi ? 3 : 4), words.end()};
}

void restarts_with_command(Draft& draft, std::string_view title) {
  if (draft.job().resume.empty()) return;
  draft.cannot("resume", fmt::format("{} starts the same command again, which has to look for "
                                     "checkpoints itself",
                                     title));
}

void says_machine_size(Draft& draft, std::string_view path, const Machine& machine) {
  if (draft.job().cpus > 0) {
    draft.says("machine.cpus", path, fmt::format("{} ({:g} vCPUs)", machine.name, machine.vcpus));
  }
  if (draft.job().memory_gib > 0) {
    draft.says("machine.memory_gib", path,
               fmt::format("{} ({:g} GiB)", machine.name, machine.ram_gib));
  }
}

Json name_value_list(const Pairs& pairs, const char* name, const char* value) {
  Json list = Json::array();
  for (const auto& [key, text] : pairs) list.push_back(Json::object({{name, key}, {value, text}}));
  return list;
}

std::string text_in(const YamlView& view, std::string_view key) {
  const auto found = view.find(key);
  return found ? found->text() : std::string();
}

int64_t integer_in(const YamlView& view, std::string_view key, int64_t fallback) {
  const auto found = view.find(key);
  return found ? found->integer() : fallback;
}

int64_t leading_count(std::string_view text, int64_t least) {
  constexpr int64_t kMost = 999'999'999;
  int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc::invalid_argument) return least;
  TY_REQUIRE(result.ec == std::errc() && number <= kMost,
             "expected a number of at most {}, found '{}'", with_commas(kMost), text);
  return std::max(number, least);
}

int64_t count_in(const YamlView& view, std::string_view key, int64_t least) {
  const auto found = view.find(key);
  if (!found) return least;
  try {
    return leading_count(found->text(), least);
  } catch (const Error& problem) {
    found->fail(problem.what());
  }
}

int64_t quantity_of(std::string_view text, std::span<const Unit> units) {
  constexpr double kMost = 1e15;
  constexpr double kRounding = 1e-9;  // of 3000 thousandths, which are 3
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || !(number > 0)) return 0;
  const std::string_view suffix = text.substr(static_cast<size_t>(result.ptr - text.data()));
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) {
      return static_cast<int64_t>(std::ceil(std::min(number * unit.factor, kMost) - kRounding));
    }
  }
  return 0;
}

std::vector<std::string> texts_in(const YamlView& view, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto found = view.find(key)) {
    for (const YamlView& item : found->items()) texts.push_back(item.text());
  }
  return texts;
}

// YAML reads `true` as a boolean where platforms mean the text.
Pairs pairs_in(const YamlView& view, std::string_view key) {
  Pairs pairs;
  if (const auto found = view.find(key)) {
    for (const auto& [name, value] : found->members()) {
      pairs.emplace_back(name, value.json().is_bool() ? value.json().dump(-1) : value.text());
    }
  }
  return pairs;
}

Pairs named_values_in(const YamlView& view, std::string_view key, std::string_view name,
                      std::string_view value) {
  Pairs pairs;
  if (const auto found = view.find(key)) {
    for (const YamlView& item : found->items()) {
      // A value from elsewhere (a secret) is no value.
      if (item.find(value)) pairs.emplace_back(item.at(name).text(), item.at(value).text());
    }
  }
  return pairs;
}

// The name of a machine says its accelerators, where the catalog knows it; one that it does not
// know stays an option of the platform, and nothing is guessed from its name.
void take_machine(Job& job, std::string_view platform, std::string_view option,
                  const std::string& name) {
  if (name.empty()) return;
  job.platforms[platform][option] = name;
  const Machine* machine = find_machine(platform, name);
  if (machine == nullptr || machine->accelerator.empty() || machine->whole_count() < 1) return;
  job.accelerator = machine->accelerator;
  job.count = machine->whole_count();
}

void check_machine_name(const YamlView& view, std::string_view platform, Findings& findings) {
  const std::string name = view.text();
  if (find_machine(platform, name) != nullptr) return;
  const std::string near = did_you_mean(name, machine_names(platform));
  findings.error(view, fmt::format("'{}' is not known.{}", name,
                                   near.empty() ? " 'trainyard jobs platforms' says where the list "
                                                  "is from"
                                                : near));
}

void check_plain_secrets(const YamlView& pairs, Findings& findings) {
  for (const auto& [name, value] : pairs.members()) {
    if (!value.json().is_string()) continue;
    const std::string why = secret_suspicion(name, value.text());
    if (!why.empty()) findings.warning(value, "a secret in plain text? " + why);
  }
}

void check_placeholders(const YamlView& root, Findings& findings) {
  if (root.json().is_object()) {
    for (const auto& [key, member] : root.members()) check_placeholders(member, findings);
  } else if (root.json().is_array()) {
    for (const YamlView& item : root.items()) check_placeholders(item, findings);
  } else if (root.json().is_string() && (root.text().find("REPLACE-ME") != std::string::npos ||
                                         root.text() == "00000000-0000-0000-0000-000000000000")) {
    findings.warning(root, "a placeholder that has to be replaced");
  }
}

}  // namespace trainyard::jobs
