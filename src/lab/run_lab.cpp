#include "lab/run_lab.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/machine_facts.h"
#include "base/printable.h"
#include "base/shell.h"
#include "base/stopwatch.h"
#include "base/text.h"

namespace trainyard::lab {
namespace {

std::filesystem::path result_file(const Cell& cell, const std::filesystem::path& directory) {
  return directory / "cells" / (cell.id + ".json");
}

// {words, seconds, load_average, result}, if the cell was run with the same words before.
std::optional<Json> stored_result(const Cell& cell, const std::filesystem::path& directory) {
  const std::filesystem::path file = result_file(cell, directory);
  if (!std::filesystem::exists(file)) return {};
  Json stored = Json::parse(read_file(file), file.string());
  const Json* words = stored.find("words");
  // Another command under the same name is another result.
  if (words == nullptr || words->dump(-1) != Json::array_of(cell.words).dump(-1)) return {};
  return stored;
}

std::string command_of(const Cell& cell) {
  std::vector<std::string> words;
  for (const std::string& word : cell.words) words.push_back(shell_word(word));
  return join(words, " ");
}

// One line that is rewritten on a terminal; a line per cell elsewhere.
class LabProgress {
 public:
  LabProgress(const LabRun& run, size_t cells) : run_(run), cells_(cells) {}

  void begin(const Cell& cell, size_t index, double left) {
    watch_ = Stopwatch();
    constexpr double kWorthSaying = 2;
    const std::string rest =
        left > kWorthSaying ? ", about " + seconds_text(std::ceil(left)) + " left" : "";
    head_ = fmt::format("[{}/{}{}]", index + 1, cells_, rest);
    command_ = printable_line(command_of(cell));
    if (run_.terminal) tick("");
  }

  void tick(const std::string& words) {
    if (!run_.terminal) return;
    constexpr size_t kWidest = 110;
    std::string line = fmt::format("{} {} · {:.0f} s", head_, command_, elapsed());
    if (!words.empty()) line += " · " + printable_line(words);
    if (line.size() > kWidest) line = line.substr(0, kWidest);
    *run_.log << "\r\x1b[2K" << line << std::flush;
  }

  void end(double seconds, bool kept) {
    if (run_.terminal) *run_.log << "\r\x1b[2K";
    *run_.log << fmt::format("{} {}: {}\n", head_, command_,
                             kept ? "done before" : seconds_text(seconds))
              << std::flush;
  }

  double elapsed() const { return watch_.seconds(); }

 private:
  const LabRun& run_;
  size_t cells_;
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
Json run_cell(const LabRun& run, const Cell& cell, double load, LabProgress& progress) {
  const std::filesystem::path folder = run.directory / "work" / cell.id;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
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
  Json stored = Json::object({{"words", Json::array_of(cell.words)}});
  stored["seconds"] = progress.elapsed();
  stored["load_average"] = load;
  stored["result"] = Json::parse(outcome.out, "output of " + command_of(cell));
  std::filesystem::create_directories(result_file(cell, run.directory).parent_path());
  write_file(result_file(cell, run.directory), stored.dump());
  return stored;
}

}  // namespace

bool is_done(const Cell& cell, const std::filesystem::path& directory) {
  return stored_result(cell, directory).has_value();
}

Json run_cells(const LabRun& run) {
  const std::vector<Cell> cells = cells_of(*run.lab, run.choices, run.directory);
  Json data = Json::object();
  data["settings"] = settings_of(*run.lab, run.choices);
  data["quick"] = run.choices.quick;
  data["machine"] = machine_facts();
  const double load = load_average();
  double highest_load = 0;  // of the runs that the results are from
  for (const Step& step : run.lab->steps) data[step.name] = Json::array();
  LabProgress progress(run, cells.size());
  std::map<std::string, std::vector<double>> taken;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    progress.begin(cell, i, seconds_left(cells, i, taken));
    std::optional<Json> stored;
    if (!run.again) stored = stored_result(cell, run.directory);
    const bool kept = stored.has_value();
    if (!kept) stored = run_cell(run, cell, load, progress);
    if (const Json* then = stored->find("load_average")) {
      highest_load = std::max(highest_load, then->as_number());
    }
    progress.end(progress.elapsed(), kept);
    const double seconds = stored->at("seconds").as_number();
    // Cells done before took their time on another day.
    if (!kept) taken[cell.step].push_back(seconds);
    Json row = cell.variables;
    row["folder"] = (run.directory / "work" / cell.id).string();
    row["seconds"] = seconds;
    row["result"] = stored->at("result");
    data[cell.step].push_back(std::move(row));
  }
  data["load_average"] = highest_load;
  return data;
}

}  // namespace trainyard::lab
