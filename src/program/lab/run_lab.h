// Runs the cells of a lab and keeps their results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "program/lab/cells.h"

namespace trainyard::lab {

// What became of a command.
struct Outcome {
  int code = 0;
  std::string out;    // of its stdout
  std::string error;  // the last lines of its stderr
};

// Runs a command with these words and calls `tick` a few times a second with the last line that it
// wrote to stderr; when that returns false the command is asked to stop.
using Command = std::function<Outcome(std::span<const std::string> words,
                                      const std::function<bool(const std::string&)>& tick)>;

// This program as a process of its own. What it writes to stderr is kept in `log`.
Outcome run_this_program(std::span<const std::string> words, const std::filesystem::path& log,
                         const std::function<bool(const std::string&)>& tick);

struct LabRun {
  const Lab* lab = nullptr;
  Choices choices;
  std::filesystem::path directory;
  bool again = false;           // results of before are not used
  std::ostream* log = nullptr;  // progress
  bool terminal = false;        // whether lines can be rewritten on it
  std::function<bool()> should_stop;
  Command command = {};
};

// {settings, scale, quick, machine, inputs, <step>: [{…variables, folder, seconds, result}, …]}:
// what queries see. A cell whose result is there already (same key, made of the same files) is not
// run again. Throws Failure naming the cell that failed, or that the run was stopped; what is done
// is kept.
Json run_cells(const LabRun& run);

// Whether its results depend on how busy the machine is.
bool takes_times(const Step& step);

// Of each cell, whether its result is there.
std::vector<bool> are_done(const std::vector<Cell>& cells, const std::filesystem::path& directory);

}  // namespace trainyard::lab
