#include "program/lab/cells.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/shell.h"
#include "base/text.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

// Each is a process and a file.
constexpr size_t kMostCells = 10'000;
constexpr std::string_view kFolderOf = ".folder";
constexpr int kDeepestSetting = 4;  // that a setting names another one

std::string word_of(const Json& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const Json& item : value.items()) words.push_back(word_of(item));
    return join(words, ",");
  }
  return value.dump(-1);
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

// Every combination of `each` with each of `first`.
std::vector<Json> combinations(const Step& step, const Json& settings, std::vector<Json> first) {
  std::vector<Json> all = std::move(first);
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

// Expands the steps of one lab, in order.
class Expansion {
 public:
  Expansion(const Lab& lab, Json settings, std::filesystem::path directory)
      : lab_(lab), settings_(std::move(settings)), directory_(std::move(directory)) {}

  void add(const Step& step) {
    std::vector<Json> first = {Json::object()};
    if (step.of) {
      first.clear();
      for (const Cell* cell : cells_of_step(*step.of)) first.push_back(cell->variables);
    }
    for (Json& variables : combinations(step, settings_, std::move(first))) {
      TY_REQUIRE(cells_.size() < kMostCells, "{}: the lab has more than {} commands", step.where,
                 kMostCells);
      cells_.push_back(cell_of(step, std::move(variables)));
    }
  }

  std::vector<Cell> take() { return std::move(cells_); }

 private:
  std::vector<const Cell*> cells_of_step(const std::string& name) const {
    std::vector<const Cell*> found;
    for (const Cell& cell : cells_) {
      if (cell.step == name) found.push_back(&cell);
    }
    return found;
  }

  // The variables that are queries, asked.
  Json evaluated(const Step& step, const Json& given) const {
    Json words = settings_;
    for (const auto& [name, value] : given.members()) words[name] = value;
    Json variables = given;
    for (const auto& [name, value] : given.members()) {
      if (!is_query(value)) continue;
      variables[name] = ask(value.as_string().substr(1), words, step.where, lab_.functions);
      words[name] = variables.at(name);
    }
    return variables;
  }

  // The cell whose folder "{name.folder}" is: the variables that both have are the same.
  const Cell& read_from(const std::string& name, const Json& variables, const Step& step) const {
    const auto agrees = [&](const Cell* cell) {
      return std::all_of(variables.members().begin(), variables.members().end(),
                         [&](const auto& v) {
                           const Json* other = cell->variables.find(v.first);
                           return other == nullptr || other->dump(-1) == v.second.dump(-1);
                         });
    };
    std::vector<const Cell*> found = cells_of_step(name);
    TY_REQUIRE(!found.empty(), "{}: '{{{}.folder}}': no step '{}' runs before this one", step.where,
               name, name);
    std::erase_if(found, [&](const Cell* cell) { return !agrees(cell); });
    // Two commands that are the same have one folder.
    const bool one = !found.empty() && std::all_of(found.begin(), found.end(), [&](const Cell* c) {
      return c->id == found[0]->id;
    });
    TY_REQUIRE(one,
               "{}: '{{{}.folder}}' stands for {} commands; `of: {}` makes one for each of them",
               step.where, name, found.size(), name);
    return *found[0];
  }

  // The command's words; `folder` gives what "{step.folder}" and "{cell}" become.
  template <typename Folder>
  std::vector<std::string> words_of(const Step& step, const Json& variables,
                                    const Folder& folder) const {
    std::vector<std::string> words;
    // Split first: a value with spaces stays one word, unless {*name} asks for several.
    for (const std::string& word : shell_words(step.run)) {
      add_words(word, kDeepestSetting, step, variables, folder, words);
    }
    TY_REQUIRE(words.empty() || words[0] != "lab", "{}: a step of a lab cannot run labs",
               step.where);
    return words;
  }

  // One word with its braces filled in, or all words of "{*name}", which may have such words again.
  template <typename Folder>
  void add_words(const std::string& word, int depth, const Step& step, const Json& variables,
                 const Folder& folder, std::vector<std::string>& words) const {
    if (!word.starts_with("{*")) {
      words.push_back(substitute(word, step, variables, folder));
      return;
    }
    TY_REQUIRE(depth > 0, "{}: settings name each other in '{}'", step.where, word);
    for (const std::string& part :
         shell_words(substitute("{" + word.substr(2), step, variables, folder))) {
      add_words(part, depth - 1, step, variables, folder, words);
    }
  }

  template <typename Folder>
  std::string substitute(const std::string& text, const Step& step, const Json& variables,
                         const Folder& folder) const {
    std::string out;
    for (size_t at = 0; at < text.size(); ++at) {
      const size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
      if (end == std::string::npos) {
        out += text[at];
        continue;
      }
      const std::string name = text.substr(at + 1, end - at - 1);
      at = end;
      if (name == "cell") {
        out += folder(nullptr);
      } else if (name.ends_with(kFolderOf)) {
        out += folder(&read_from(name.substr(0, name.size() - kFolderOf.size()), variables, step));
      } else {
        out += word_of(value_of_word(name, step, variables));
      }
    }
    return out;
  }

  const Json& value_of_word(const std::string& name, const Step& step,
                            const Json& variables) const {
    if (const Json* value = variables.find(name)) return *value;
    if (const Json* value = settings_.find(name)) return *value;
    std::vector<std::string> names = {"cell"};
    for (const auto& [key, unused] : variables.members()) names.push_back(key);
    for (const auto& [key, unused] : settings_.members()) names.push_back(key);
    TY_REQUIRE(name != "dir",
               "{}: a command writes into {{cell}}, its own folder, and reads the files of another "
               "step as {{STEP.folder}}; {{dir}} is no more",
               step.where);
    throw_error("{}: there is no setting '{}'.{}", step.where, name, did_you_mean(name, names));
  }

  Cell cell_of(const Step& step, const Json& given) const {
    Cell cell{.step = step.name, .variables = evaluated(step, given)};
    const std::vector<std::string> keyed =
        words_of(step, cell.variables, [&](const Cell* other) -> std::string {
          if (other == nullptr) return "{cell}";
          cell.reads.push_back(other->id);
          return "{" + other->id + "}";
        });
    cell.key = Json::object({{"words", Json::array_of(keyed)},
                             {"variables", cell.variables},
                             {"files", digests_of_files(keyed)}});
    cell.id = fmt::format("{}-{:016x}", step.name, hash_text(cell.key.dump(-1)));
    cell.folder = directory_ / "work" / cell.id;
    cell.words = words_of(step, cell.variables, [&](const Cell* other) {
      return (other == nullptr ? cell.folder : other->folder).string();
    });
    return cell;
  }

  const Lab& lab_;
  Json settings_;
  std::filesystem::path directory_;
  std::vector<Cell> cells_;
};

bool starts_programs(std::string_view word) {
  return word.find("exec:") != std::string_view::npos || word.starts_with("--allow-exec");
}

}  // namespace

void require_no_programs(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    const auto found = std::find_if(cell.words.begin(), cell.words.end(), starts_programs);
    TY_REQUIRE(found == cell.words.end(),
               "step '{}' of this lab would start programs of its own ({}); --allow-exec lets it",
               cell.step, *found);
  }
}

std::vector<Cell> cells_of(const Lab& lab, const Choices& choices,
                           const std::filesystem::path& directory) {
  Expansion expansion(lab, settings_of(lab, choices), directory);
  for (const Step& step : lab.steps) {
    if (choices.scale == Scale::kQuick && !step.quick) continue;
    expansion.add(step);
  }
  return expansion.take();
}

}  // namespace trainyard::lab
