#include "runs/events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <unistd.h>

#include "base/error.h"
#include "base/wire.h"
#include "runs/crc32c.h"

namespace trainyard::runs {

static_assert(std::endian::native == std::endian::little);

namespace {

// Field numbers of tensorflow.Event, Summary, Summary.Value and SessionLog.
constexpr uint32_t kEventWallTime = 1;
constexpr uint32_t kEventStep = 2;
constexpr uint32_t kEventFileVersion = 3;
constexpr uint32_t kEventSummary = 5;
constexpr uint32_t kEventSessionLog = 7;
constexpr uint32_t kSummaryValue = 1;
constexpr uint32_t kValueTag = 1;
constexpr uint32_t kValueSimple = 2;
constexpr uint32_t kValueImage = 4;
constexpr uint32_t kValueHistogram = 5;
constexpr uint32_t kValueMetadata = 9;
constexpr uint32_t kSessionStatus = 1;
constexpr uint64_t kSessionStart = 1;

template <typename T>
void put_raw(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void put_number(std::string& out, uint32_t field, uint64_t value) {
  append_tag(out, field, WireType::kVarint);
  append_varint(out, value);
}

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  append_bytes_header(out, field, bytes.size());
  out += bytes;
}

void put_double(std::string& out, uint32_t field, double value) {
  append_tag(out, field, WireType::kFixed64);
  put_raw(out, value);
}

std::string tagged(const std::string& tag) {
  std::string value;
  put_bytes(value, kValueTag, tag);
  return value;
}

// google.protobuf.Value
std::string setting_value(const Setting& setting) {
  std::string out;
  if (const auto* number = std::get_if<double>(&setting)) put_double(out, 2, *number);
  if (const auto* text = std::get_if<std::string>(&setting)) put_bytes(out, 3, *text);
  if (const auto* flag = std::get_if<bool>(&setting)) put_number(out, 4, *flag ? 1 : 0);
  return out;
}

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string event(int64_t step) {
  std::string out;
  put_double(out, kEventWallTime, seconds_since_1970());
  put_number(out, kEventStep, static_cast<uint64_t>(step));
  return out;
}

// Length, its checksum, the event, its checksum.
std::string record(std::string_view content) {
  std::string out;
  put_raw(out, static_cast<uint64_t>(content.size()));
  put_raw(out, masked_crc32c(out));
  out += content;
  put_raw(out, masked_crc32c(content));
  return out;
}

// A name no other process has and that sorts by time.
std::filesystem::path new_file(const std::filesystem::path& folder) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  for (int number = 0;; ++number) {
    std::filesystem::path path = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                                      static_cast<int64_t>(seconds_since_1970()),
                                                      host.data(), ::getpid(), number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

EventWriter::EventWriter(const std::filesystem::path& folder, int64_t last_step)
    : path_(new_file(folder)), file_(path_) {
  std::string first = event(0);
  put_bytes(first, kEventFileVersion, "brain.Event:2");
  file_.append(record(first));
  std::string session;
  put_number(session, kSessionStatus, kSessionStart);
  std::string start = event(last_step + 1);
  put_bytes(start, kEventSessionLog, session);
  file_.append(record(start));
}

void EventWriter::write_summary(int64_t step, std::string_view value) {
  std::string summary;
  put_bytes(summary, kSummaryValue, value);
  std::string content = event(step);
  put_bytes(content, kEventSummary, summary);
  file_.append(record(content));
}

// SessionStartInfo of TensorBoard's plug-in for settings, in the metadata of a value without data.
void EventWriter::write_settings(const std::map<std::string, Setting>& settings) {
  std::string session;
  for (const auto& [name, setting] : settings) {
    std::string pair;
    put_bytes(pair, 1, name);
    put_bytes(pair, 2, setting_value(setting));
    put_bytes(session, 1, pair);
  }
  put_double(session, 5, seconds_since_1970());
  std::string content;
  put_bytes(content, 3, session);
  std::string plugin;
  put_bytes(plugin, 1, "hparams");
  put_bytes(plugin, 2, content);
  std::string metadata;
  put_bytes(metadata, 1, plugin);
  std::string value = tagged("_hparams_/session_start_info");
  put_bytes(value, kValueMetadata, metadata);
  write_summary(0, value);
}

void EventWriter::write_picture(int64_t step, const std::string& tag, std::string_view png,
                                int64_t height, int64_t width) {
  constexpr uint64_t kColor = 3;
  std::string image;
  put_number(image, 1, static_cast<uint64_t>(height));
  put_number(image, 2, static_cast<uint64_t>(width));
  put_number(image, 3, kColor);
  put_bytes(image, 4, png);
  std::string value = tagged(tag);
  put_bytes(value, kValueImage, image);
  write_summary(step, value);
}

void EventWriter::write_histogram(int64_t step, const std::string& tag,
                                  std::span<const float> numbers) {
  constexpr size_t kBuckets = 30;
  double low = INFINITY;
  double high = -INFINITY;
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    low = std::min(low, number);
    high = std::max(high, number);
    sum += number;
    squares += number * number;
    count += 1;
  }
  if (count == 0) return;
  const double width = high > low ? (high - low) / kBuckets : 1;
  std::array<double, kBuckets> buckets{};
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    buckets[std::min(kBuckets - 1, static_cast<size_t>((number - low) / width))] += 1;
  }
  std::string limits;
  std::string counts;
  for (size_t i = 0; i < kBuckets; ++i) {
    put_raw(limits, low + width * static_cast<double>(i + 1));
    put_raw(counts, buckets[i]);
  }
  std::string histogram;
  put_double(histogram, 1, low);
  put_double(histogram, 2, high);
  put_double(histogram, 3, count);
  put_double(histogram, 4, sum);
  put_double(histogram, 5, squares);
  put_bytes(histogram, 6, limits);
  put_bytes(histogram, 7, counts);
  std::string value = tagged(tag);
  put_bytes(value, kValueHistogram, histogram);
  write_summary(step, value);
}

void EventWriter::write(int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, kValueTag, scalar.tag);
    append_tag(value, kValueSimple, WireType::kFixed32);
    put_raw(value, static_cast<float>(scalar.value));
    put_bytes(summary, kSummaryValue, value);
  }
  std::string content = event(step);
  put_bytes(content, kEventSummary, summary);
  file_.append(record(content));
}

}  // namespace trainyard::runs
