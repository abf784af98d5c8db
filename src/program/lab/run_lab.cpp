#include "program/lab/run_lab.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/machine_facts.h"
#include "base/printable.h"
#include "base/shell.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "program/lab/cell_states.h"

namespace trainyard::lab {
namespace {

std::filesystem::path result_file(const Cell& cell, const std::filesystem::path& directory) {
  return directory / "cells" / (cell.id + ".json");
}

// When each cell was made, by its id, so that one made again makes those anew that read its files.
using MadeTimes = std::map<std::string, std::string>;

Json times_of_reads(const Cell& cell, const MadeTimes& made) {
  Json times = Json::object();
  for (const std::string& id : cell.reads) {
    const auto known = made.find(id);
    times[id] = known != made.end() ? Json(known->second) : Json();
  }
  return times;
}

// {key, reads, made, seconds, load_average, result}, if the cell was run before from the same
// files.
std::optional<Json> stored_result(const Cell& cell, const std::filesystem::path& directory,
                                  const MadeTimes& made) {
  const std::filesystem::path file = result_file(cell, directory);
  if (!std::filesystem::exists(file) || !std::filesystem::exists(cell.folder)) return {};
  Json stored = Json::parse(read_file(file), file.string());
  const Json* key = stored.find("key");
  const Json* reads = stored.find("reads");
  if (key == nullptr || reads == nullptr || stored.find("made") == nullptr) return {};
  const bool same =
      key->dump(-1) == cell.key.dump(-1) && reads->dump(-1) == times_of_reads(cell, made).dump(-1);
  if (!same) return {};
  return stored;
}

std::string command_of(const Cell& cell) {
  std::vector<std::string> words;
  for (const std::string& word : cell.words) words.push_back(shell_word(word));
  return join(words, " ");
}

std::vector<CellStates::Command> commands_of(const std::vector<Cell>& cells) {
  std::vector<CellStates::Command> commands;
  for (const Cell& cell : cells) commands.push_back({cell.step, printable_line(command_of(cell))});
  return commands;
}

// One line that is rewritten on a terminal; a line per cell elsewhere. All cells stand in a file.
class LabProgress {
 public:
  LabProgress(const LabRun& run, const std::vector<Cell>& cells)
      : run_(run),
        cells_(cells.size()),
        states_(commands_of(cells), run.directory, scale_name(run.choices.scale)) {}

  void begin(const Cell& cell, size_t index, double left) {
    watch_ = Stopwatch();
    constexpr double kWorthSaying = 2;
    const std::string rest =
        left > kWorthSaying ? ", about " + seconds_text(std::ceil(left)) + " left" : "";
    head_ = fmt::format("[{}/{}{}]", index + 1, cells_, rest);
    command_ = printable_line(command_of(cell));
    states_.begin(index);
    if (run_.terminal) tick("");
  }

  void tick(const std::string& words) {
    states_.running(elapsed(), printable_line(words));
    if (!run_.terminal) return;
    constexpr size_t kWidest = 110;
    std::string line = fmt::format("{} {} · {:.0f} s", head_, command_, elapsed());
    if (!words.empty()) line += " · " + printable_line(words);
    if (line.size() > kWidest) line = line.substr(0, kWidest);
    *run_.log << "\r\x1b[2K" << line << std::flush;
  }

  // `made`: seconds that the cell took when it was made.
  void end(double seconds, bool kept, double made) {
    states_.done(made, kept);
    if (run_.terminal) *run_.log << "\r\x1b[2K";
    *run_.log << fmt::format("{} {}: {}\n", head_, command_,
                             kept ? "done before" : seconds_text(seconds))
              << std::flush;
  }

  void lab_done() { states_.end("done", ""); }
  void lab_ended(const std::string& problem) {
    states_.end(run_.should_stop() ? "stopped" : "failed", printable(problem));
  }

  double elapsed() const { return watch_.seconds(); }

 private:
  const LabRun& run_;
  size_t cells_;
  CellStates states_;
  std::string head_;
  std::string command_;
  Stopwatch watch_;
};

// Seconds that the cells from `next` on will take: as those of their step, or of all, took so far.
double seconds_left(const std::vector<Cell>& cells, size_t next,
                    const std::map<std::string, std::vector<double>>& taken) {
  const auto mean_of = [](const std::vector<double>& times) {
    double sum = 0;
    for (const double time : times) sum += time;
    return sum / static_cast<double>(times.size());
  };
  std::vector<double> all;
  for (const auto& [step, times] : taken) all.insert(all.end(), times.begin(), times.end());
  if (all.empty()) return 0;
  double left = 0;
  for (size_t i = next; i < cells.size(); ++i) {
    const auto known = taken.find(cells[i].step);
    left += mean_of(known != taken.end() ? known->second : all);
  }
  return left;
}

// `load` is that of the machine before the first cell.
// A fresh folder, as a run that was stopped may have left half a result in it.
Json run_cell(const LabRun& run, const Cell& cell, const MadeTimes& made, double load,
              LabProgress& progress) {
  std::filesystem::remove(result_file(cell, run.directory));
  std::filesystem::remove_all(cell.folder);
  std::filesystem::create_directories(cell.folder);
  std::vector<std::string> words = cell.words;
  words.emplace_back("--json");
  const Outcome outcome = run.command(words, [&](const std::string& line) {
    progress.tick(line);
    return !run.should_stop();
  });
  // First: a command that was stopped ends with an error too.
  if (run.should_stop()) {
    throw_failure("stopped; what is done is kept in {}, and the same command goes on from there",
                  run.directory.string());
  }
  if (outcome.code != 0) {
    throw_failure(
        "lab {}: 'trainyard {}' ended with exit code {}:\n{}\nThe same command runs it "
        "again; what is done is kept in {}",
        run.lab->name, command_of(cell), outcome.code, outcome.error, run.directory.string());
  }
  // Written at once, so that a lab that is stopped later goes on behind it.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json stored = Json::object({{"key", cell.key}, {"reads", times_of_reads(cell, made)}});
  stored["made"] = fmt::format("{} ns", std::chrono::nanoseconds(now).count());
  stored["seconds"] = progress.elapsed();
  stored["load_average"] = load;
  stored["result"] = Json::parse(outcome.out, "output of " + command_of(cell));
  std::filesystem::create_directories(result_file(cell, run.directory).parent_path());
  write_file(result_file(cell, run.directory), stored.dump());
  return stored;
}

// What queries see besides the results of steps.
Json data_before_cells(const LabRun& run) {
  Json data = Json::object();
  data["settings"] = settings_of(*run.lab, run.choices);
  data["scale"] = scale_name(run.choices.scale);
  data["quick"] = run.choices.scale == Scale::kQuick;
  data["machine"] = machine_facts();
  data["inputs"] = inputs_of(*run.lab, data.at("settings"));
  return data;
}

Json row_of(const Cell& cell, const Json& stored) {
  Json row = cell.variables;
  row["folder"] = cell.folder.string();
  row["seconds"] = stored.at("seconds");
  row["result"] = stored.at("result");
  return row;
}

}  // namespace

std::vector<bool> are_done(const std::vector<Cell>& cells, const std::filesystem::path& directory) {
  MadeTimes made;
  std::vector<bool> done;
  for (const Cell& cell : cells) {
    const std::optional<Json> stored = stored_result(cell, directory, made);
    if (stored) made[cell.id] = stored->at("made").as_string();
    done.push_back(stored.has_value());
  }
  return done;
}

namespace {

// Of each step a list of its cells' rows, and the load of the machine; added to `data`.
void run_all(const LabRun& run, const std::vector<Cell>& cells, LabProgress& progress, Json& data) {
  std::set<std::string> timed;  // the steps for which a busy machine matters
  for (const Step& step : run.lab->steps) {
    data[step.name] = Json::array();
    if (takes_times(step)) timed.insert(step.name);
  }
  const double load = load_average();
  double highest_load = 0;  // of the runs that the times are from
  std::map<std::string, std::vector<double>> taken;
  MadeTimes made;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    progress.begin(cell, i, seconds_left(cells, i, taken));
    std::optional<Json> stored;
    if (!run.again) stored = stored_result(cell, run.directory, made);
    const bool kept = stored.has_value();
    if (!kept) stored = run_cell(run, cell, made, load, progress);
    made[cell.id] = stored->at("made").as_string();
    const Json* then = stored->find("load_average");
    if (then != nullptr && timed.count(cell.step) > 0) {
      highest_load = std::max(highest_load, then->as_number());
    }
    const double seconds = stored->at("seconds").as_number();
    progress.end(progress.elapsed(), kept, seconds);
    // Cells done before took their time on another day.
    if (!kept) taken[cell.step].push_back(seconds);
    data[cell.step].push_back(row_of(cell, *stored));
  }
  data["load_average"] = highest_load;
}

}  // namespace

Json run_cells(const LabRun& run) {
  const std::vector<Cell> cells = cells_of(*run.lab, run.choices, run.directory);
  Json data = data_before_cells(run);
  LabProgress progress(run, cells);
  try {
    run_all(run, cells, progress, data);
  } catch (const std::exception& problem) {
    progress.lab_ended(problem.what());
    throw;
  }
  progress.lab_done();
  return data;
}

}  // namespace trainyard::lab
