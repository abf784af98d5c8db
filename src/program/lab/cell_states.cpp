#include "program/lab/cell_states.h"

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/printable.h"

namespace trainyard::lab {
namespace {

namespace fs = std::filesystem;

constexpr double kBetweenWrites = 1;  // in seconds
constexpr std::chrono::seconds kSilent{10};
constexpr int64_t kLargest = 16 << 20;

fs::path file_of(const fs::path& directory) {
  return directory / "cells.json";
}

// The cell under way ends as the lab does.
void rename_running(Json::Array& cells, std::string_view state) {
  for (Json& cell : cells) {
    if (cell.at("state").as_string() == "running") cell["state"] = state;
  }
}

std::string text_of(const Json& object, std::string_view name) {
  return printable(object.at(name).as_string());
}

}  // namespace

CellStates::CellStates(const std::vector<Command>& commands, fs::path directory,
                       std::string_view scale)
    : file_(file_of(directory)), scale_(scale) {
  for (const Command& command : commands) {
    cells_.push_back(Json::object({{"step", command.step},
                                   {"command", command.words},
                                   {"state", "waiting"},
                                   {"seconds", nullptr},
                                   {"said", ""}}));
  }
  fs::create_directories(file_.parent_path());
  write();
}

void CellStates::write() {
  since_written_ = Stopwatch();
  const Json states = Json::object(
      {{"scale", scale_}, {"state", state_}, {"problem", problem_}, {"cells", cells_}});
  write_file(file_, states.dump(-1));
}

void CellStates::begin(size_t cell) {
  current_ = cell;
  cells_[current_]["state"] = "running";
  write();
}

void CellStates::running(double seconds, const std::string& said) {
  if (since_written_.seconds() < kBetweenWrites) return;
  cells_[current_]["seconds"] = seconds;
  cells_[current_]["said"] = said;
  write();
}

void CellStates::done(double seconds, bool kept) {
  cells_[current_]["state"] = kept ? "kept" : "done";
  cells_[current_]["seconds"] = seconds;
  cells_[current_]["said"] = "";
  write();
}

void CellStates::end(std::string_view state, const std::string& problem) {
  state_ = state;
  problem_ = problem;
  rename_running(cells_, state);
  write();
}

Json read_cell_states(const fs::path& directory) {
  const fs::path file = file_of(directory);
  std::error_code none;
  if (fs::symlink_status(file, none).type() != fs::file_type::regular) return {};
  const auto written = fs::last_write_time(file, none);
  const Json states = Json::parse(read_file(file, kLargest), "cells.json");
  const bool silent = fs::file_time_type::clock::now() - written > kSilent;
  std::string state = text_of(states, "state");
  if (state == "running" && silent) state = "stopped";
  Json::Array cells;
  for (const Json& cell : states.at("cells").items()) {
    const Json& seconds = cell.at("seconds");
    cells.push_back(Json::object({{"step", text_of(cell, "step")},
                                  {"command", text_of(cell, "command")},
                                  {"state", text_of(cell, "state")},
                                  {"seconds", seconds.is_number() ? seconds : Json()},
                                  {"said", text_of(cell, "said")}}));
  }
  if (state != "running") rename_running(cells, state);
  return Json::object({{"scale", text_of(states, "scale")},
                       {"state", state},
                       {"problem", text_of(states, "problem")},
                       {"cells", std::move(cells)}});
}

}  // namespace trainyard::lab
