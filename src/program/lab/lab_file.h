// A lab: an experiment as a declarative file over the commands of the program.
// docs/adding-a-lab.md has the format.
#pragma once

#include <memory>
#include <optional>
#include <string>
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
  // A step before this one: one command for each of its commands, with their variables.
  std::optional<std::string> of = {};
  // Values are words of their own, "{setting}" for all of a list, or objects of several variables
  // that change together. A text that begins with "=" is a query over settings and variables.
  std::vector<std::pair<std::string, std::vector<Json>>> each = {};
  std::string where = {};  // file and line
};

// What settings have to satisfy before anything is run.
struct Requirement {
  std::string that;     // a query over the settings
  std::string message;  // a text with {{ queries }} over the settings
  std::string where;    // file and line
};

// A table that the user brings: a setting names the file, "none" if there is none.
struct Input {
  std::string setting;
  std::vector<std::string> columns;  // those that end in "?" may be missing
};

struct Lab {
  std::string name;
  bool built_in = false;  // else a file of the user's, or of a stranger
  std::string title;
  std::string question;
  std::string quick_time;  // "20 s" on two cores, as measured
  std::string full_time;
  // A list, or a word; a text that begins with "=" is a query over the settings before it, with
  // `cores` and `memory_bytes` of the machine.
  std::vector<std::pair<std::string, Json>> settings;
  std::vector<std::pair<std::string, Json>> quick;   // what --quick changes
  std::vector<std::pair<std::string, Json>> course;  // what the course's own configuration changes
  std::vector<Requirement> requirements;
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::string functions;                     // the jq functions of this lab (NAME.jq), or empty
  std::shared_ptr<const YamlDocument> file;  // the blocks of its report are read when it is made
};

// The names of those built in, in order.
std::vector<std::string> lab_names();
// One built in, or a path to a file. Throws Error with the nearest name, or file and line of what
// is wrong.
Lab load_lab(const std::string& name_or_path);

}  // namespace trainyard::lab
