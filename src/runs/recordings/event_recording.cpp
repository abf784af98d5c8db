#include "runs/recordings/event_recording.h"

#include <cmath>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/wire.h"
#include "runs/crc32c.h"
#include "runs/growing_file.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRecordsAtOnce = 4 << 20;
constexpr uint64_t kLongestRecord = 64 << 20;
constexpr size_t kHead = 12;  // length and its checksum
constexpr size_t kTail = 4;
constexpr size_t kMostEventFiles = 1000;

struct Point {
  int64_t step = 0;
  double wall_s = 0;
  std::string_view tag;
  double value = 0;
};
using UsePoint = std::function<void(const Point&)>;

template <typename T>
T raw(Bytes bytes) {
  T value{};
  TY_REQUIRE(bytes.size() >= sizeof value, "a number is cut short");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The last bytes of a field are its value.
template <typename T>
T fixed(const WireField& field) {
  TY_REQUIRE(field.whole.size() >= sizeof(T), "a number is cut short");
  return raw<T>(field.whole.last(sizeof(T)));
}

uint64_t varint_of(const WireField& field) {
  WireReader reader(field.whole);
  reader.varint();  // the tag
  return reader.varint();
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// TensorBoard 2 writes scalars as tensors: float_val, double_val, or raw content of their type.
std::optional<double> scalar_of_tensor(Bytes tensor) {
  constexpr uint64_t kFloat = 1;
  constexpr uint64_t kDouble = 2;
  uint64_t type = 0;
  for (WireReader reader(tensor); !reader.done();) {
    const WireField field = reader.next();
    if (field.number == 1 && field.type == WireType::kVarint) type = varint_of(field);
    const bool holds = field.type == WireType::kBytes && !field.content.empty();
    if (field.number == 4 && holds && type == kFloat) return raw<float>(field.content);
    if (field.number == 4 && holds && type == kDouble) return raw<double>(field.content);
    if (field.number == 5 && holds) return raw<float>(field.content);
    if (field.number == 5 && field.type == WireType::kFixed32) return fixed<float>(field);
    if (field.number == 6 && holds) return raw<double>(field.content);
    if (field.number == 6 && field.type == WireType::kFixed64) return fixed<double>(field);
  }
  return std::nullopt;
}

void read_value(Bytes value, Point point, const UsePoint& use) {
  std::optional<double> number;
  for (WireReader reader(value); !reader.done();) {
    const WireField field = reader.next();
    if (field.number == 1 && field.type == WireType::kBytes) point.tag = text_of(field.content);
    if (field.number == 2 && field.type == WireType::kFixed32) number = fixed<float>(field);
    if (field.number == 8 && field.type == WireType::kBytes) {
      number = scalar_of_tensor(field.content);
    }
  }
  if (!number || point.tag.empty()) return;
  point.value = *number;
  use(point);
}

void read_event(Bytes event, const UsePoint& use) {
  Point point;
  Bytes summary;
  for (WireReader reader(event); !reader.done();) {
    const WireField field = reader.next();
    if (field.number == 1 && field.type == WireType::kFixed64) point.wall_s = fixed<double>(field);
    if (field.number == 2 && field.type == WireType::kVarint) {
      point.step = static_cast<int64_t>(varint_of(field));
    }
    if (field.number == 5 && field.type == WireType::kBytes) summary = field.content;
  }
  for (WireReader reader(summary); !reader.done();) {
    const WireField field = reader.next();
    if (field.number == 1 && field.type == WireType::kBytes) read_value(field.content, point, use);
  }
}

// Whole records of a file from `offset` on; a torn last one is left out. Returns where it ends.
// Throws Error for a length that is damaged: nothing behind it can be found.
int64_t read_records(const fs::path& path, int64_t offset, int64_t most, const UsePoint& use) {
  const GrowingFile file(path);
  const int64_t begin = offset;
  while (offset < file.size() && offset - begin < most) {
    std::string text = file.read(offset, kRecordsAtOnce);
    std::string_view rest = text;
    while (rest.size() >= kHead + kTail) {
      const auto length = raw<uint64_t>(bytes_of(rest));
      TY_REQUIRE(length <= kLongestRecord &&
                     raw<uint32_t>(bytes_of(rest.substr(8))) == masked_crc32c(rest.substr(0, 8)),
                 "{}: damaged at byte {}", printable_line(path.filename().string()), offset);
      const size_t whole = kHead + static_cast<size_t>(length) + kTail;
      if (rest.size() < whole && whole > kRecordsAtOnce) {
        text = file.read(offset, whole);
        rest = text;
      }
      if (rest.size() < whole) break;
      read_event(bytes_of(rest.substr(kHead, length)), use);
      rest.remove_prefix(whole);
      offset += static_cast<int64_t>(whole);
    }
    if (rest.size() == text.size()) break;  // not one record
  }
  return offset;
}

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
  const auto note = [&](const Point& point) {
    if (std::isfinite(point.value)) last_[printable_line(point.tag)] = point.value;
    last_["step"] = static_cast<double>(point.step);
    ++count_;
  };
  for (const std::string& name : event_files(folder_)) {
    int64_t& read = files_[name];
    if (mark_of(folder_ / name).size == read) continue;
    try {
      const int64_t end = read_records(folder_ / name, read, INT64_MAX, note);
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
  const auto add = [&](const Point& point) {
    if (!first) first = point.wall_s;
    Json line = Json::object({{"step", point.step}, {"seconds", point.wall_s - *first}});
    line[printable_line(point.tag)] = std::isfinite(point.value) ? Json(point.value) : Json();
    numbers.lines.push_back(std::move(line));
  };
  int64_t before = 0;  // bytes of the files in front
  for (const auto& [name, read] : files_) {
    const int64_t begin = numbers.next - before;
    before += read;
    if (begin < 0 || begin >= read) continue;
    try {
      numbers.next += read_records(folder_ / name, begin, INT64_MAX, add) - begin;
    } catch (const Error&) {
      break;  // update() has said so
    }
  }
  return numbers;
}

}  // namespace trainyard::runs
