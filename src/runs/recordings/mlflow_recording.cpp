#include "runs/recordings/mlflow_recording.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/yaml.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostText = 1 << 20;
constexpr size_t kMostMetrics = 10'000;
constexpr size_t kMostOfMetric = 64 << 20;

// Files below a folder by their path there: names may hold slashes.
std::map<std::string, fs::path> files_below(const fs::path& folder) {
  std::map<std::string, fs::path> found;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(folder, problem), end;
       !problem && at != end && found.size() < kMostMetrics; at.increment(problem)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() != fs::file_type::regular) continue;
    found.emplace(printable_line(at->path().lexically_relative(folder).string()), at->path());
  }
  return found;
}

struct Measured {
  int64_t time_ms = 0;
  double value = 0;
  int64_t step = 0;
};

// "1650000000000 0.5 3"; old files have no step.
std::optional<Measured> measured_of(const std::string& line) {
  std::istringstream words(line);
  std::string time, value, step;
  words >> time >> value >> step;
  const auto when = parse_number<int64_t>(time);
  const auto what = parse_number<double>(value);
  if (!when || !what) return std::nullopt;
  return Measured{*when, *what, parse_number<int64_t>(step).value_or(0)};
}

std::vector<Measured> read_metric(const fs::path& file) {
  std::vector<Measured> points;
  std::istringstream lines(read_lines(file, 0, kMostOfMetric).text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto point = measured_of(line)) points.push_back(*point);
  }
  return points;
}

}  // namespace

bool MlflowRecording::update() {
  bool changed = false;
  for (const auto& [name, path] : files_below(folder_ / "metrics")) {
    const FileMark mark = mark_of(path);
    FileMark& seen = files_[name];
    if (mark == seen) continue;
    seen = mark;
    changed = true;
    constexpr int64_t kLastBytes = 4096;
    const int64_t begin = std::max<int64_t>(0, mark.size - kLastBytes);
    const std::string end = GrowingFile(path).read(begin, kLastBytes);
    const size_t stop = end.rfind('\n');
    if (stop == std::string::npos) continue;
    const size_t start = stop == 0 ? 0 : end.rfind('\n', stop - 1) + 1;
    const auto last = measured_of(end.substr(start, stop - start));
    if (!last) continue;
    if (std::isfinite(last->value)) last_[name] = last->value;
    double& step = last_["step"];
    step = std::max(step, static_cast<double>(last->step));
  }
  if (!changed) return false;
  size_ = 0;
  for (const auto& [name, mark] : files_) size_ += mark.size;
  ++generation_;
  return true;
}

Numbers MlflowRecording::numbers(uint64_t /*generation*/, int64_t /*position*/) const {
  std::multimap<int64_t, Json> by_time;
  std::optional<int64_t> first;
  for (const auto& [name, path] : files_below(folder_ / "metrics")) {
    for (const Measured& point : read_metric(path)) {
      if (!first || point.time_ms < *first) first = point.time_ms;
      Json line = Json::object({{"step", point.step}});
      line[name] = std::isfinite(point.value) ? Json(point.value) : Json();
      by_time.emplace(point.time_ms, std::move(line));
    }
  }
  Numbers numbers;
  for (auto& [time, line] : by_time) {
    line["seconds"] = static_cast<double>(time - *first) / 1000;
    numbers.lines.push_back(std::move(line));
  }
  numbers.next = size_;
  return numbers;
}

Json mlflow_settings(const fs::path& folder) {
  Json settings = Json::object();
  const auto meta =
      YamlDocument::parse_without_aliases(read_file(folder / "meta.yaml", kMostText), "meta.yaml");
  for (const char* name : {"run_name", "user_id", "experiment_id"}) {
    const Json* value = meta->json().is_object() ? meta->json().find(name) : nullptr;
    if (value != nullptr) settings[name] = *value;
  }
  for (const auto& [name, path] : files_below(folder / "params")) {
    std::string text = printable_line(read_file(path, kMostText));
    if (const auto number = parse_number<double>(text)) {
      settings[name] = *number;
    } else {
      settings[name] = std::move(text);
    }
  }
  return settings;
}

}  // namespace trainyard::runs
