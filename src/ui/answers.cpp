#include "ui/answers.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/shell.h"
#include "base/text.h"
#include "runs/recordings/metrics_recording.h"
#include "ui/step_terms.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 1000;
// Of what is read at once: a day of samples, one a second.
constexpr size_t kMostSamples = 24 << 20;

Json text_or_null(const Json& object, std::string_view name) {
  const Json* value = object.is_object() ? object.find(name) : nullptr;
  return value == nullptr ? Json() : *value;
}

Json last_of(const Run& run) {
  Json::Object numbers;
  for (const auto& [name, value] : run.recording->last()) numbers.emplace_back(name, value);
  return Json::object_of(std::move(numbers));
}

std::string problem_of(const Run& run) {
  if (!run.problem.empty()) return run.problem;
  return run.recording->problem();
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
  if (run.source != runs::Source::kTrainyard) return {};
  const bool learns_by_acting = run.settings.find("agent") != nullptr;
  return fmt::format("trainyard {} --config {}", learns_by_acting ? "rl train" : "train",
                     shell_word(printable_line((run.directory / "config.yaml").string())));
}

Json class_names(const fs::path& directory) {
  std::vector<std::string> names;
  for (const std::string& name :
       split(runs::read_lines(directory / "classes.txt", 0, 1 << 20).text, '\n')) {
    if (!name.empty()) names.push_back(printable_line(name));
  }
  return Json::array_of(names);
}

// What was predicted and measured of a step, side by side.
void add_step(const Run& run, Json& row) {
  const std::optional<StepTerms> measured = measured_step(run);
  const std::optional<StepTerms> predicted = predicted_step(run.predicted);
  row["measured"] = measured ? to_json(*measured) : Json::object();
  if (run.busy) row["measured"]["memory_bytes"] = run.busy->memory_bytes;
  row["predicted"] = run.predicted;
  const double others = run.busy ? run.busy->others : 0;
  row["wrong_term"] = measured && predicted
                          ? wrong_term(*measured, *predicted, others, run.recording->workers_ms())
                          : "";
}

void add_money(const Run& run, const Price& price, Json& row) {
  constexpr double kHour = 3600;
  const auto seconds = run.recording->last().find("seconds");
  const std::optional<double> left = seconds_left(run);
  row["seconds_left"] = left;
  const bool known = price && seconds != run.recording->last().end();
  row["cost_usd"] = known ? Json(*price * seconds->second / kHour) : Json();
  row["cost_left_usd"] = price && left ? Json(*price * *left / kHour) : Json();
}

// Lines to columns; a name that a line does not have is null there.
Json columns_of(std::span<const Json> lines) {
  std::vector<std::string> names;
  std::unordered_map<std::string, size_t> places;
  std::vector<Json::Array> columns;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const auto& [name, value] : lines[i].members()) {
      const auto [at, added] = places.try_emplace(name, columns.size());
      if (added) {
        names.push_back(name);
        columns.emplace_back(lines.size());
      }
      columns[at->second][i] = value;
    }
  }
  Json::Object object;
  for (size_t i = 0; i < names.size(); ++i) object.emplace_back(names[i], std::move(columns[i]));
  return Json::object_of(std::move(object));
}

// The last epochs are at the end, and a matrix of 1,000 classes is a few megabytes.
std::vector<Json> last_lines_with(const Run& run, const char* name, size_t most) {
  const runs::GrowingFile file(run.directory / "metrics.jsonl");
  const int64_t begin = std::max<int64_t>(0, file.size() - static_cast<int64_t>(kMostSamples));
  const std::vector<std::string> lines = split(file.read(begin, kMostSamples), '\n');
  const std::string key = fmt::format("\"{}\"", name);
  std::vector<Json> found;
  for (auto line = lines.rbegin(); line != lines.rend() && found.size() < most; ++line) {
    if (line->find(key) == std::string::npos) continue;
    try {
      Json whole = Json::parse(*line, "a line of metrics");
      if (whole.find(name) != nullptr) found.push_back(std::move(whole));
    } catch (const Error&) {
      continue;  // torn
    }
  }
  return found;
}

}  // namespace

Json row_of(const std::string& id, const Run& run, const RunIndex& index, const Price& price) {
  Json::Object settings;
  for (const std::string& name : index.differing()) {
    if (const Json* value = run.settings.find(name)) settings.emplace_back(name, *value);
  }
  const std::optional<int64_t> points = run.recording->count();
  Json row = Json::object({{"id", id},
                           {"name", run.name},
                           {"source", name_of(run.source)},
                           {"state", name_of(run.state)},
                           {"model", text_or_null(run.settings, "model")},
                           {"data", text_or_null(run.settings, "data")},
                           {"epochs", text_or_null(run.settings, "epochs")},
                           {"batch", text_or_null(run.settings, "batch")},
                           {"began", text_or_null(run.machine, "time")},
                           {"host", text_or_null(run.machine, "host")},
                           {"settings", Json::object_of(std::move(settings))},
                           {"tags", Json::array_of(run.notes.tags)},
                           {"note", run.notes.text},
                           {"last", last_of(run)},
                           {"best_top1", run.recording->best_top1()},
                           {"points", points ? Json(*points) : Json()},
                           {"generation", static_cast<int64_t>(run.recording->generation())},
                           {"size", run.recording->size()},
                           {"problem", problem_of(run)}});
  add_step(run, row);
  add_money(run, price, row);
  return row;
}

Json rows_since(const RunIndex& index, uint64_t version, const Price& price) {
  Json rows = Json::array();
  for (const auto& [id, run] : index.runs()) {
    if (run.changed > version) rows.push_back(row_of(id, run, index, price));
  }
  return Json::object({{"differ", Json::array_of(index.differing())},
                       {"runs", std::move(rows)},
                       {"gone", Json::array_of(index.gone_since(version))}});
}

Json details_of(const std::string& id, const Run& run) {
  return Json::object({{"id", id},
                       {"name", run.name},
                       {"source", name_of(run.source)},
                       {"state", name_of(run.state)},
                       {"directory", printable_line(run.directory.string())},
                       {"settings", run.settings},
                       {"machine", run.machine},
                       {"notes", runs::to_json(run.notes)},
                       {"files", files_of(run.directory)},
                       {"repeat", repeat_command(run)},
                       {"problem", problem_of(run)}});
}

Json numbers_from(const Run& run, uint64_t generation, int64_t position) {
  const runs::Numbers numbers = run.recording->numbers(generation, position);
  return Json::object({{"generation", static_cast<int64_t>(run.recording->generation())},
                       {"from", numbers.from},
                       {"next", numbers.next},
                       {"more", numbers.more},
                       {"count", static_cast<int64_t>(numbers.lines.size())},
                       {"columns", columns_of(numbers.lines)}});
}

Json system_series(const Run& run) {
  std::vector<Json> samples;
  const runs::Piece piece = runs::read_lines(run.directory / "utilization.jsonl", 0, kMostSamples);
  for (const std::string& line : split(piece.text, '\n')) {
    if (auto sample = runs::numbers_of(line)) samples.push_back(std::move(*sample));
  }
  return Json::object({{"columns", columns_of(samples)}});
}

Json confusion_of(const Run& run) {
  const std::vector<Json> last = last_lines_with(run, "confusion", 1);
  if (last.empty()) return {};
  return Json::object({{"step", last[0].at("step")},
                       {"counts", last[0].at("confusion")},
                       {"classes", class_names(run.directory)}});
}

Json samples_of(const Run& run) {
  constexpr size_t kMostTexts = 20;
  Json::Array samples;
  for (const Json& line : last_lines_with(run, "sample", kMostTexts)) {
    if (!line.at("sample").is_string()) continue;
    samples.push_back(Json::object(
        {{"step", line.at("step")}, {"text", printable(line.at("sample").as_string())}}));
  }
  std::reverse(samples.begin(), samples.end());
  return Json::object({{"samples", std::move(samples)}});
}

}  // namespace trainyard::ui
