#include "runs/recordings/event_reader.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "runs/crc32c.h"
#include "runs/growing_file.h"

namespace trainyard::runs {
namespace {

constexpr size_t kRecordsAtOnce = 4 << 20;
constexpr uint64_t kLongestRecord = 64 << 20;
constexpr size_t kHead = 12;  // length and its checksum
constexpr size_t kTail = 4;

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

void read_value(Bytes value, EventNumber point, const EventUser& use) {
  std::optional<double> number;
  Bytes histogram;
  for (WireReader reader(value); !reader.done();) {
    const WireField field = reader.next();
    if (field.number == 1 && field.type == WireType::kBytes) point.tag = text_of(field.content);
    if (field.number == 2 && field.type == WireType::kFixed32) number = fixed<float>(field);
    if (field.number == 5 && field.type == WireType::kBytes) histogram = field.content;
    if (field.number == 8 && field.type == WireType::kBytes) {
      number = scalar_of_tensor(field.content);
    }
  }
  if (point.tag.empty()) return;
  if (use.histogram && !histogram.empty()) use.histogram(point.step, point.tag, histogram);
  if (!use.number || !number) return;
  point.value = *number;
  use.number(point);
}

void read_event(Bytes event, const EventUser& use) {
  EventNumber point;
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

// Doubles one after the other, whether they are packed or not.
void add_doubles(const WireField& field, std::vector<double>& numbers) {
  if (field.type == WireType::kFixed64) numbers.push_back(fixed<double>(field));
  if (field.type != WireType::kBytes) return;
  for (Bytes rest = field.content; rest.size() >= sizeof(double);
       rest = rest.subspan(sizeof(double))) {
    numbers.push_back(raw<double>(rest));
  }
}

}  // namespace

int64_t read_events(const std::filesystem::path& path, int64_t offset, int64_t most,
                    const EventUser& use) {
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

// HistogramProto: min, max, num, sum, sum of squares, ends of the buckets, counts.
EventHistogram parse_histogram(Bytes bytes) {
  EventHistogram histogram;
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (WireReader reader(bytes); !reader.done();) {
    const WireField field = reader.next();
    if (field.number >= 6) {
      if (field.number == 6) add_doubles(field, histogram.ends);
      if (field.number == 7) add_doubles(field, histogram.counts);
      continue;
    }
    if (field.type != WireType::kFixed64) continue;
    const auto value = fixed<double>(field);
    if (field.number == 1) histogram.low = value;
    if (field.number == 2) histogram.high = value;
    if (field.number == 3) count = value;
    if (field.number == 4) sum = value;
    if (field.number == 5) squares = value;
  }
  TY_REQUIRE(histogram.ends.size() == histogram.counts.size(),
             "a histogram of {} ends and {} counts", histogram.ends.size(),
             histogram.counts.size());
  if (count > 0) {
    histogram.mean = sum / count;
    histogram.deviation =
        std::sqrt(std::max(0.0, squares / count - histogram.mean * histogram.mean));
  }
  return histogram;
}

}  // namespace trainyard::runs
