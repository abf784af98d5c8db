// What the cells of a lab are at, in a file of its folder that others read while it runs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/stopwatch.h"

namespace trainyard::lab {

// The file is written with every change, and once a second while a cell runs.
class CellStates {
 public:
  struct Command {
    std::string step;
    std::string words;
  };
  CellStates(const std::vector<Command>& commands, std::filesystem::path directory,
             std::string_view scale);

  void begin(size_t cell);
  // What the running cell said last.
  void running(double seconds, const std::string& said);
  // `kept`: its result was there already.
  void done(double seconds, bool kept);
  // The lab is over; the cell that was running, if any, is "stopped" or "failed".
  void end(std::string_view state, const std::string& problem);

 private:
  void write();

  std::filesystem::path file_;
  std::string scale_;
  std::string state_ = "running";
  std::string problem_;
  Json::Array cells_;
  size_t current_ = 0;
  Stopwatch since_written_;
};

// {"scale", "state", "problem", "cells": [{"step", "command", "state", "seconds", "said"}, …]} of
// the last time that the lab ran; null: none. States are waiting, running, done, kept, failed and
// stopped; a lab whose process wrote nothing for some seconds has stopped. Throws Error for a
// damaged file.
Json read_cell_states(const std::filesystem::path& directory);

}  // namespace trainyard::lab
