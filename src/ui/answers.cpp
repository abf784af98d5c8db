#include "ui/answers.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/shell.h"
#include "base/text.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

// Of one answer; whoever asks goes on behind it.
constexpr size_t kMostNumbers = 4 << 20;
constexpr size_t kMostFiles = 1000;

Json text_or_null(const Json& object, std::string_view name) {
  const Json* value = object.is_object() ? object.find(name) : nullptr;
  return value == nullptr ? Json() : *value;
}

Json last_of(const Run& run) {
  Json::Object numbers;
  for (const auto& [name, value] : run.metrics.last()) numbers.emplace_back(name, value);
  return Json::object_of(std::move(numbers));
}

std::string problem_of(const Run& run) {
  if (!run.problem.empty()) return run.problem;
  if (run.metrics.bad_lines() == 0) return "";
  return fmt::format("metrics.jsonl: {} lines are no objects with a step", run.metrics.bad_lines());
}

int64_t seconds_since_1970(const fs::file_time_type& time) {
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
}

void add_files(const fs::path& folder, const std::string& prefix, Json::Array& files) {
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end;
       !problem && at != end && files.size() < kMostFiles; at.increment(problem)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() != fs::file_type::regular) continue;
    const uintmax_t bytes = at->file_size(unknown);
    const auto time = at->last_write_time(unknown);
    if (unknown) continue;
    files.push_back(Json::object({{"name", prefix + printable_line(at->path().filename().string())},
                                  {"bytes", static_cast<int64_t>(bytes)},
                                  {"written", seconds_since_1970(time)}}));
  }
}

Json files_of(const fs::path& directory) {
  Json::Array files;
  add_files(directory, "", files);
  add_files(directory / "checkpoints", "checkpoints/", files);
  const auto name = [](const Json& file) { return file.at("name").as_string(); };
  std::sort(files.begin(), files.end(),
            [&](const Json& a, const Json& b) { return name(a) < name(b); });
  return files;
}

// Reinforcement learning has a command of its own.
std::string repeat_command(const Run& run) {
  const bool learns_by_acting = run.settings.find("agent") != nullptr;
  return fmt::format("trainyard {} --config {}", learns_by_acting ? "rl train" : "train",
                     shell_word(printable_line((run.directory / "config.yaml").string())));
}

}  // namespace

Json row_of(const std::string& id, const Run& run, const RunIndex& index) {
  Json::Object settings;
  for (const std::string& name : index.differing()) {
    if (const Json* value = run.settings.find(name)) settings.emplace_back(name, *value);
  }
  return Json::object({{"id", id},
                       {"name", run.name},
                       {"state", name_of(run.state)},
                       {"model", text_or_null(run.settings, "model")},
                       {"data", text_or_null(run.settings, "data")},
                       {"epochs", text_or_null(run.settings, "epochs")},
                       {"began", text_or_null(run.machine, "time")},
                       {"host", text_or_null(run.machine, "host")},
                       {"settings", Json::object_of(std::move(settings))},
                       {"last", last_of(run)},
                       {"best_top1", run.metrics.best_top1()},
                       {"points", run.metrics.lines()},
                       {"generation", static_cast<int64_t>(run.metrics.generation())},
                       {"size", run.metrics.size()},
                       {"problem", problem_of(run)}});
}

Json rows_since(const RunIndex& index, uint64_t version) {
  Json rows = Json::array();
  for (const auto& [id, run] : index.runs()) {
    if (run.changed > version) rows.push_back(row_of(id, run, index));
  }
  return Json::object({{"differ", Json::array_of(index.differing())},
                       {"runs", std::move(rows)},
                       {"gone", Json::array_of(index.gone_since(version))}});
}

Json details_of(const std::string& id, const Run& run) {
  return Json::object({{"id", id},
                       {"name", run.name},
                       {"state", name_of(run.state)},
                       {"directory", printable_line(run.directory.string())},
                       {"settings", run.settings},
                       {"machine", run.machine},
                       {"files", files_of(run.directory)},
                       {"repeat", repeat_command(run)},
                       {"problem", problem_of(run)}});
}

Json numbers_from(const Run& run, uint64_t generation, int64_t offset) {
  const int64_t from = generation == run.metrics.generation() ? offset : 0;
  const Piece piece = read_lines(run.directory / "metrics.jsonl", from, kMostNumbers);
  Json lines = Json::array();
  for (const std::string& line : split(piece.text, '\n')) {
    std::optional<Json> numbers = numbers_of(line);
    if (numbers) lines.push_back(std::move(*numbers));
  }
  return Json::object({{"generation", static_cast<int64_t>(run.metrics.generation())},
                       {"from", from},
                       {"next", piece.next},
                       {"more", piece.more},
                       {"lines", std::move(lines)}});
}

}  // namespace trainyard::ui
