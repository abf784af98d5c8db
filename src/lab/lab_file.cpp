#include "lab/lab_file.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "lab/embedded.h"
#include "lab/query.h"

namespace trainyard::lab {
namespace {

constexpr std::string_view kEnding = ".yaml";
// Each is a process and a file.
constexpr size_t kMostCells = 10'000;

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view kDigits = "0123456789";

// The name of a step is a file name and a name in queries.
bool is_identifier(std::string_view name) {
  const std::string all = std::string(kLetters) + std::string(kDigits);
  return !name.empty() && name.find_first_not_of(all) == std::string_view::npos &&
         kDigits.find(name[0]) == std::string_view::npos;
}

// Throws Error if the word is one that the program gives a meaning itself.
void require_free(std::string_view name, std::initializer_list<std::string_view> reserved,
                  const YamlView& view) {
  if (std::find(reserved.begin(), reserved.end(), name) == reserved.end()) return;
  view.fail(fmt::format("'{}' is reserved; choose another name", name));
}

std::vector<std::pair<std::string, Json>> read_settings(const YamlView& root,
                                                        std::string_view key) {
  std::vector<std::pair<std::string, Json>> settings;
  const auto block = root.find(key);
  if (!block) return settings;
  for (const auto& [name, value] : block->members()) settings.emplace_back(name, value.json());
  return settings;
}

Step read_step(const YamlView& view) {
  view.only({"name", "run", "each", "quick"});
  Step step;
  step.where = view.where();
  step.name = view.at("name").text();
  if (!is_identifier(step.name)) {
    view.at("name").fail(
        fmt::format("'{}' is no name for a step: expected letters, digits and _", step.name));
  }
  require_free(step.name, {"settings", "quick", "machine", "load_average"}, view.at("name"));
  step.run = view.at("run").text();
  if (const auto quick = view.find("quick")) step.quick = quick->boolean();
  if (const auto each = view.find("each")) {
    for (const auto& [name, values] : each->members()) {
      require_free(name, {"folder", "seconds", "result", "dir", "cell"}, values);
      if (values.json().is_array()) {
        step.each.emplace_back(name, values.json().items());
      } else {
        step.each.emplace_back(name, std::vector<Json>{values.json()});
      }
    }
  }
  return step;
}

Lab parse_lab(std::string name, std::string_view text, const std::string& origin) {
  Lab lab;
  lab.name = std::move(name);
  lab.file = YamlDocument::parse(text, origin);
  const YamlView root = lab.file->root();
  root.only({"title", "question", "time", "settings", "quick", "steps", "report"});
  lab.title = root.at("title").text();
  lab.question = root.at("question").text();
  if (const auto time = root.find("time")) {
    time->only({"quick", "full"});
    lab.quick_time = time->at("quick").text();
    lab.full_time = time->at("full").text();
  }
  lab.settings = read_settings(root, "settings");
  lab.quick = read_settings(root, "quick");
  for (const YamlView& view : root.at("steps").items()) {
    Step step = read_step(view);
    for (const Step& before : lab.steps) {
      if (before.name == step.name) view.fail(fmt::format("step '{}' is there already", step.name));
    }
    lab.steps.push_back(std::move(step));
  }
  if (!root.at("report").json().is_array()) root.at("report").fail("expected a list of blocks");
  return lab;
}

std::string word_of(const Json& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const Json& item : value.items()) words.push_back(word_of(item));
    return join(words, ",");
  }
  return value.dump(-1);
}

bool is_query(const Json& value) {
  return value.is_string() && value.as_string().starts_with("=");
}

// A number where it reads as one.
Json value_of(const std::string& text) {
  if (text.find(',') != std::string::npos) {
    Json list = Json::array();
    for (const std::string& part : split(text, ',')) list.push_back(value_of(part));
    return list;
  }
  const auto document = YamlDocument::parse("value: " + text, "--set");
  return document->json().at("value");
}

// `text` as a value of the kind that the setting has: a text stays one, commas included, and a list
// may have one value.
Json value_like(const Json& usual, const std::string& text) {
  if (usual.is_string() && !is_query(usual)) return text;
  Json value = value_of(text);
  if (!usual.is_array() || value.is_array()) return value;
  Json list = Json::array();
  list.push_back(std::move(value));
  return list;
}

std::string substituted(const std::string& text, const Json& words, const std::string& where) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += text[at];
      continue;
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    const Json* value = words.find(name);
    if (value == nullptr) {
      std::vector<std::string> names;
      for (const auto& [key, unused] : words.members()) names.push_back(key);
      throw_error("{}: there is no setting '{}'.{}", where, name, did_you_mean(name, names));
    }
    out += word_of(*value);
    at = end;
  }
  return out;
}

// "{batches}" alone stands for every value of the list.
std::vector<Json> values_of(const std::vector<Json>& given, const Json& settings,
                            const std::string& where) {
  std::vector<Json> values;
  for (const Json& value : given) {
    const bool name =
        value.is_string() && value.as_string().starts_with("{") && value.as_string().ends_with("}");
    if (!name) {
      values.push_back(value);
      continue;
    }
    const std::string key = value.as_string().substr(1, value.as_string().size() - 2);
    const Json* setting = settings.find(key);
    TY_REQUIRE(setting != nullptr, "{}: there is no setting '{}'", where, key);
    if (!setting->is_array()) {
      values.push_back(*setting);
      continue;
    }
    for (const Json& item : setting->items()) values.push_back(item);
  }
  return values;
}

std::vector<Json> combinations(const Step& step, const Json& settings) {
  std::vector<Json> all = {Json::object()};
  for (const auto& [name, given] : step.each) {
    std::vector<Json> longer;
    const std::vector<Json> values = values_of(given, settings, step.where);
    TY_REQUIRE(values.size() <= kMostCells && all.size() * values.size() <= kMostCells,
               "{}: step '{}' has more than {} combinations", step.where, step.name, kMostCells);
    for (const Json& so_far : all) {
      for (const Json& value : values) {
        Json next = so_far;
        if (!value.is_object()) {
          next[name] = value;
        } else {
          for (const auto& [key, part] : value.members()) next[key] = part;
        }
        longer.push_back(std::move(next));
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::string_view embedded_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return file.text;
  }
  return {};
}

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(kEnding)) continue;
    names.emplace_back(file.name.substr(0, file.name.size() - kEnding.size()));
  }
  return names;
}

Lab load_lab(const std::string& name_or_path) {
  const std::string_view text = embedded_file(name_or_path + std::string(kEnding));
  if (!text.empty()) return parse_lab(name_or_path, text, "labs/" + name_or_path + ".yaml");
  const std::filesystem::path path = name_or_path;
  if (path.extension() == kEnding) {
    // It names a folder of results.
    TY_REQUIRE(!path.stem().string().starts_with("."),
               "'{}' is no name for a lab: it begins with .", path.filename().string());
    return parse_lab(path.stem().string(), read_file(path), path.string());
  }
  throw_error(
      "there is no lab '{}'.{} 'trainyard lab list' lists them; a file of your own ends in "
      ".yaml",
      name_or_path, did_you_mean(name_or_path, lab_names()));
}

std::string title_of(const Lab& lab, const Choices& choices) {
  return fill_in(lab.title, Json::object({{"settings", settings_of(lab, choices)}}), lab.name);
}

std::string question_of(const Lab& lab, const Choices& choices) {
  return fill_in(lab.question, Json::object({{"settings", settings_of(lab, choices)}}), lab.name);
}

Json settings_of(const Lab& lab, const Choices& choices) {
  Json settings = Json::object();
  std::vector<std::string> names;
  for (const auto& [name, value] : lab.settings) {
    settings[name] = value;
    names.push_back(name);
  }
  const auto change = [&](const std::string& name, Json value, std::string_view where) {
    if (settings.find(name) == nullptr) {
      throw_error("{}: lab {} has no setting '{}', only {}.{}", where, lab.name, name,
                  join(names, ", "), did_you_mean(name, names));
    }
    settings[name] = std::move(value);
  };
  if (choices.quick) {
    for (const auto& [name, value] : lab.quick) change(name, value, lab.file->origin());
  }
  for (const std::string& text : choices.set) {
    const size_t equals = text.find('=');
    TY_REQUIRE(equals != std::string::npos, "--set {}: expected key=value", text);
    const std::string name = text.substr(0, equals);
    const Json* usual = settings.find(name);
    const std::string given = text.substr(equals + 1);
    change(name, usual != nullptr ? value_like(*usual, given) : value_of(given), "--set");
  }
  const Json machine = Json::object(
      {{"cores", static_cast<int64_t>(std::thread::hardware_concurrency())},
       {"memory_bytes", int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)}});
  for (const std::string& name : names) {
    const Json value = settings.at(name);
    if (!is_query(value)) continue;
    settings[name] = ask(value.as_string().substr(1), machine, lab.name + ": setting " + name);
  }
  return settings;
}

std::vector<Cell> cells_of(const Lab& lab, const Choices& choices,
                           const std::filesystem::path& directory) {
  const Json settings = settings_of(lab, choices);
  std::vector<Cell> cells;
  for (const Step& step : lab.steps) {
    if (choices.quick && !step.quick) continue;
    int64_t number = 0;
    for (Json& variables : combinations(step, settings)) {
      Cell cell{.step = step.name,
                .id = fmt::format("{}{}-{}", choices.quick ? "quick-" : "", step.name, ++number)};
      Json words = settings;
      for (const auto& [name, value] : variables.members()) words[name] = value;
      const Json given = variables;
      for (const auto& [name, value] : given.members()) {
        if (!is_query(value)) continue;
        variables[name] = ask(value.as_string().substr(1), words, step.where);
        words[name] = variables.at(name);
      }
      words["dir"] = directory.string();
      words["cell"] = (directory / "work" / cell.id).string();
      // Split first: a value with spaces stays one word, unless {*name} asks for several.
      for (const std::string& word : shell_words(step.run)) {
        if (!word.starts_with("{*")) {
          cell.words.push_back(substituted(word, words, step.where));
          continue;
        }
        const std::string line = substituted("{" + word.substr(2), words, step.where);
        for (std::string& part : shell_words(line)) cell.words.push_back(std::move(part));
      }
      TY_REQUIRE(cell.words.empty() || cell.words[0] != "lab",
                 "{}: a step of a lab cannot run labs", step.where);
      TY_REQUIRE(cells.size() < kMostCells, "{}: the lab has more than {} commands", step.where,
                 kMostCells);
      cell.variables = std::move(variables);
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

}  // namespace trainyard::lab
