// A lab: an experiment as a declarative file over the commands of the program. docs/labs.md has the
// format.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/yaml.h"

namespace trainyard::lab {

// Commands that differ in some words: `run` with each combination of the values of `each`.
struct Step {
  std::string name;   // its results are .<name> in queries
  std::string run;    // "{word}" stands for a setting or a variable, "{*word}" for its words
  bool quick = true;  // false: not with --quick
  // Values are words of their own, "{setting}" for all of a list, or objects of several variables
  // that change together. A text that begins with "=" is a query over settings and variables.
  std::vector<std::pair<std::string, std::vector<Json>>> each;
  std::string where;  // file and line
};

struct Lab {
  std::string name;
  std::string title;
  std::string question;
  std::string quick_time;  // "20 s" on two cores, as measured
  std::string full_time;
  // A list, or a word; a text that begins with "=" is a query over {cores, memory_bytes}.
  std::vector<std::pair<std::string, Json>> settings;
  std::vector<std::pair<std::string, Json>> quick;
  std::vector<Step> steps;
  std::shared_ptr<const YamlDocument> file;  // the blocks of its report are read when it is made
};

// The names of those built in, in order.
std::vector<std::string> lab_names();
// One built in, or a path to a file. Throws Error with the nearest name, or file and line of what
// is wrong.
Lab load_lab(const std::string& name_or_path);

// One command to run.
struct Cell {
  std::string step;
  std::string id;       // "measured-3", "quick-measured-3"
  Json variables = {};  // the values of `each`
  std::vector<std::string> words = {};
};

struct Choices {
  bool quick = false;
  std::vector<std::string> set;  // key=value; a value with commas becomes a list
};

// Title and question as they are with these choices: both may ask for settings.
std::string title_of(const Lab& lab, const Choices& choices);
std::string question_of(const Lab& lab, const Choices& choices);

// Settings with --quick and --set applied, an object. Throws Error for unknown keys.
Json settings_of(const Lab& lab, const Choices& choices);

// Every command, in order. `{dir}` becomes the folder of the lab, `{cell}` one of the cell alone.
std::vector<Cell> cells_of(const Lab& lab, const Choices& choices,
                           const std::filesystem::path& directory);

}  // namespace trainyard::lab
