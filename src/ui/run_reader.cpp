#include "ui/run_reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostText = 1 << 20;

Json read_machine(const fs::path& directory) {
  const fs::path file = directory / "machine.json";
  if (runs::mark_of(file).time == 0) return {};
  return Json::parse(read_file(file, kMostText), "machine.json");
}

// The file that says what a run was asked to do.
fs::path settings_file(const Run& run) {
  return run.directory / (run.source == runs::Source::kMlflow ? "meta.yaml" : "config.yaml");
}

void read_settings(Run& run, runs::SettingsLines& lines) {
  run.settings = Json::object();
  run.machine = read_machine(run.directory);
  if (run.settings_mark.time == 0) return;
  if (run.source == runs::Source::kTrainyard) {
    run.settings = lines.parse(read_file(settings_file(run), kMostText), "config.yaml");
  } else {
    run.settings = runs::settings_of_others(run.source, run.directory);
  }
}

bool update_settings(Run& run, runs::SettingsLines& lines) {
  const runs::FileMark mark = runs::mark_of(settings_file(run));
  if (mark == run.settings_mark && run.changed != 0) return false;
  run.settings_mark = mark;
  run.problem.clear();
  run.asked_prediction = false;
  try {
    read_settings(run, lines);
  } catch (const Error& error) {
    run.problem = printable_line(error.what());
  }
  return true;
}

bool update_notes(Run& run) {
  const runs::FileMark mark = runs::mark_of(runs::notes_file(run.directory));
  if (mark == run.notes_mark) return false;
  run.notes_mark = mark;
  run.notes = {};
  try {
    run.notes = runs::read_notes(run.directory);
  } catch (const Error& error) {
    run.problem = printable_line(error.what());
  }
  return true;
}

bool update_busy(Run& run) {
  const runs::FileMark mark = runs::mark_of(run.directory / "utilization.jsonl");
  if (mark == run.busy_mark) return false;
  run.busy_mark = mark;
  run.busy = runs::read_busy_end(run.directory);
  return true;
}

}  // namespace

News read_news(Run& run, const std::set<uint64_t>& locked, runs::SettingsLines& lines) {
  News news{.settings = update_settings(run, lines)};
  news.anything = news.settings;
  news.anything = run.recording->update() || news.anything;
  news.anything = update_notes(run) || news.anything;
  news.anything = update_busy(run) || news.anything;
  const RunState state = state_of(run.directory, run.machine, locked);
  news.anything = news.anything || state != run.state;
  run.state = state;
  return news;
}

}  // namespace trainyard::ui
