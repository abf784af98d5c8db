#include "program/lab/lab_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "program/lab/embedded.h"

namespace trainyard::lab {
namespace {

constexpr std::string_view kEnding = ".yaml";
constexpr std::string_view kFunctions = ".jq";

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
  view.only({"name", "run", "of", "each", "quick"});
  Step step;
  step.where = view.where();
  step.name = view.at("name").text();
  if (!is_identifier(step.name)) {
    view.at("name").fail(
        fmt::format("'{}' is no name for a step: expected letters, digits and _", step.name));
  }
  require_free(step.name, {"settings", "scale", "quick", "machine", "load_average", "inputs"},
               view.at("name"));
  step.run = view.at("run").text();
  if (const auto of = view.find("of")) step.of = of->text();
  if (const auto quick = view.find("quick")) step.quick = quick->boolean();
  if (const auto each = view.find("each")) {
    for (const auto& [name, values] : each->members()) {
      require_free(name, {"folder", "seconds", "result", "cell"}, values);
      if (values.json().is_array()) {
        step.each.emplace_back(name, values.json().items());
      } else {
        step.each.emplace_back(name, std::vector<Json>{values.json()});
      }
    }
  }
  return step;
}

Requirement read_requirement(const YamlView& view) {
  view.only({"that", "else"});
  return {view.at("that").text(), view.at("else").text(), view.where()};
}

std::vector<Input> read_inputs(const YamlView& root) {
  std::vector<Input> inputs;
  const auto block = root.find("inputs");
  if (!block) return inputs;
  for (const auto& [setting, columns] : block->members()) {
    if (!root.find("settings") || !root.at("settings").find(setting)) {
      columns.fail(fmt::format("there is no setting '{}' that names the file", setting));
    }
    Input input{setting, {}};
    for (const YamlView& column : columns.items()) input.columns.push_back(column.text());
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<Step> read_steps(const YamlView& root) {
  std::vector<Step> steps;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& s) { return s.name == name; });
  };
  for (const YamlView& view : root.at("steps").items()) {
    Step step = read_step(view);
    if (is_there(step.name)) view.fail(fmt::format("step '{}' is there already", step.name));
    if (step.of && !is_there(*step.of)) {
      view.at("of").fail(fmt::format("there is no step '{}' before this one", *step.of));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

Lab parse_lab(std::string name, std::string_view text, const std::string& origin) {
  Lab lab;
  lab.name = std::move(name);
  lab.file = YamlDocument::parse(text, origin);
  const YamlView root = lab.file->root();
  root.only({"title", "question", "time", "settings", "quick", "course", "require", "inputs",
             "steps", "report"});
  lab.title = root.at("title").text();
  lab.question = root.at("question").text();
  if (const auto time = root.find("time")) {
    time->only({"quick", "full"});
    lab.quick_time = time->at("quick").text();
    lab.full_time = time->at("full").text();
  }
  lab.settings = read_settings(root, "settings");
  lab.quick = read_settings(root, "quick");
  lab.course = read_settings(root, "course");
  if (const auto require = root.find("require")) {
    for (const YamlView& view : require->items())
      lab.requirements.push_back(read_requirement(view));
  }
  lab.inputs = read_inputs(root);
  lab.steps = read_steps(root);
  if (!root.at("report").json().is_array()) root.at("report").fail("expected a list of blocks");
  return lab;
}

}  // namespace

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    // Folders hold what labs share.
    if (!file.name.ends_with(kEnding) || file.name.find('/') != std::string_view::npos) continue;
    names.emplace_back(file.name.substr(0, file.name.size() - kEnding.size()));
  }
  return names;
}

Lab load_lab(const std::string& name_or_path) {
  const std::string_view text =
      find_embedded(embedded_files(), name_or_path + std::string(kEnding)).value_or("");
  if (!text.empty()) {
    Lab lab = parse_lab(name_or_path, text, "labs/" + name_or_path + ".yaml");
    lab.built_in = true;
    lab.functions =
        find_embedded(embedded_files(), name_or_path + std::string(kFunctions)).value_or("");
    return lab;
  }
  const std::filesystem::path path = name_or_path;
  if (path.extension() == kEnding) {
    // It names a folder of results.
    TY_REQUIRE(!path.stem().string().starts_with("."),
               "'{}' is no name for a lab: it begins with .", path.filename().string());
    Lab lab = parse_lab(path.stem().string(), read_file(path), path.string());
    std::filesystem::path functions = path;
    functions.replace_extension(kFunctions);
    if (std::filesystem::exists(functions)) lab.functions = read_file(functions);
    return lab;
  }
  throw_error(
      "there is no lab '{}'.{} 'trainyard lab list' lists them; a file of your own ends in "
      ".yaml",
      name_or_path, did_you_mean(name_or_path, lab_names()));
}

}  // namespace trainyard::lab
