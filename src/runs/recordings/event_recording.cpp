#include "runs/recordings/event_recording.h"

#include <cmath>

#include "base/error.h"
#include "base/printable.h"
#include "runs/growing_file.h"
#include "runs/recordings/event_reader.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEventFiles = 1000;

}  // namespace

std::set<std::string> event_files(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end;
       !problem && at != end && names.size() < kMostEventFiles; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (name.find("tfevents") == std::string::npos) continue;
    if (at->symlink_status(unknown).type() == fs::file_type::regular) names.insert(name);
  }
  return names;
}

bool EventRecording::update() {
  const int64_t before = size_;
  const EventUser note = {.number = [&](const EventNumber& point) {
    if (std::isfinite(point.value)) last_[printable_line(point.tag)] = point.value;
    last_["step"] = static_cast<double>(point.step);
    ++count_;
  }};
  for (const std::string& name : event_files(folder_)) {
    int64_t& read = files_[name];
    if (mark_of(folder_ / name).size == read) continue;
    try {
      const int64_t end = read_events(folder_ / name, read, INT64_MAX, note);
      size_ += end - read;
      read = end;
    } catch (const Error& error) {
      problem_ = error.what();
    }
  }
  return size_ != before;
}

// Points of one step follow one another, each under its own name; of time, it counts from the
// first.
Numbers EventRecording::numbers(uint64_t generation, int64_t position) const {
  Numbers numbers;
  numbers.from = generation == generation_ ? position : 0;
  numbers.next = numbers.from;
  std::optional<double> first;
  const EventUser add = {.number = [&](const EventNumber& point) {
    if (!first) first = point.wall_s;
    Json line = Json::object({{"step", point.step}, {"seconds", point.wall_s - *first}});
    line[printable_line(point.tag)] = std::isfinite(point.value) ? Json(point.value) : Json();
    numbers.lines.push_back(std::move(line));
  }};
  int64_t before = 0;  // bytes of the files in front
  for (const auto& [name, read] : files_) {
    const int64_t begin = numbers.next - before;
    before += read;
    if (begin < 0 || begin >= read) continue;
    try {
      numbers.next += read_events(folder_ / name, begin, INT64_MAX, add) - begin;
    } catch (const Error&) {
      break;  // update() has said so
    }
  }
  return numbers;
}

}  // namespace trainyard::runs
