#include "runs/recordings/recording.h"

#include <chrono>

#include "runs/growing_file.h"
#include "runs/recordings/event_recording.h"
#include "runs/recordings/metrics_recording.h"
#include "runs/recordings/mlflow_recording.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

bool has_file(const fs::path& folder, const char* name) {
  return mark_of(folder / name).time != 0;
}

// The first by name of the files of another program; empty: there is none.
fs::path lines_file(const fs::path& folder) {
  fs::path found;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    const fs::path& file = at->path();
    if (file.extension() != ".jsonl" || mark_of(file).time == 0) continue;
    if (found.empty() || file < found) found = file;
  }
  return found;
}

}  // namespace

uint64_t Recording::first_generation() {
  static const uint64_t first =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  return first;
}

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kTrainyard:
      return "trainyard";
    case Source::kTensorBoard:
      return "tensorboard";
    case Source::kMlflow:
      return "mlflow";
    case Source::kJsonl:
      return "jsonl";
  }
  return "";
}

std::optional<Source> source_of(const fs::path& folder) {
  if (has_file(folder, "config.yaml") || has_file(folder, "metrics.jsonl")) {
    return Source::kTrainyard;
  }
  std::error_code none;
  const auto metrics = fs::symlink_status(folder / "metrics", none).type();
  if (has_file(folder, "meta.yaml") && metrics == fs::file_type::directory) return Source::kMlflow;
  if (!event_files(folder).empty()) return Source::kTensorBoard;
  if (!lines_file(folder).empty()) return Source::kJsonl;
  return std::nullopt;
}

std::unique_ptr<Recording> open_recording(Source source, const fs::path& folder) {
  using Lines = MetricsRecording::Lines;
  switch (source) {
    case Source::kTrainyard:
      return std::make_unique<MetricsRecording>(folder / "metrics.jsonl", Lines::kOurs);
    case Source::kTensorBoard:
      return std::make_unique<EventRecording>(folder);
    case Source::kMlflow:
      return std::make_unique<MlflowRecording>(folder);
    case Source::kJsonl:
      return std::make_unique<MetricsRecording>(lines_file(folder), Lines::kOfOthers);
  }
  return nullptr;
}

Json settings_of_others(Source source, const fs::path& folder) {
  return source == Source::kMlflow ? mlflow_settings(folder) : Json::object();
}

}  // namespace trainyard::runs
