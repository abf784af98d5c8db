// The commands of a lab, each with a key of everything that its result depends on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "program/lab/choices.h"
#include "program/lab/lab_file.h"

namespace trainyard::lab {

// One command to run.
struct Cell {
  std::string step;
  // Of the step and a hash of `key`: cells of other settings have other names.
  std::string id = {};
  Json variables = {};  // the values of `each`
  std::vector<std::string> words = {};
  std::filesystem::path folder = {};  // for the files that it writes
  // {words, variables, files}: the command with the keys of the cells whose files it reads in place
  // of their folders, its variables (which may only count repetitions), and a digest of every other
  // file and folder that it names.
  Json key = {};
  std::vector<std::string> reads = {};  // the ids of the cells whose files it reads
};

// Every command, in order. `{cell}` becomes a folder of the cell alone, `{step.folder}` that of a
// step before: of its only cell, or of the one with the same variables.
std::vector<Cell> cells_of(const Lab& lab, const Choices& choices,
                           const std::filesystem::path& directory);

// Throws Error if a command would start a program besides this one: naming a command as an
// environment ("exec:COMMAND"), or allowing those that files bring.
void require_no_programs(const std::vector<Cell>& cells);

// A digest of what the words name among files: {name: digest}, of contents for a file, of names,
// sizes and times for a folder. Parts between ':', ',' and '=' count as names too.
Json digests_of_files(const std::vector<std::string>& words);

}  // namespace trainyard::lab
