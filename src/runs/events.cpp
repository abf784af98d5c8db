#include "runs/events.h"

#include <array>
#include <bit>
#include <chrono>
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

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string event(int64_t step) {
  std::string out;
  append_tag(out, kEventWallTime, WireType::kFixed64);
  put_raw(out, seconds_since_1970());
  put_number(out, kEventStep, static_cast<uint64_t>(step));
  return out;
}

// Rotated and shifted, so that a record that holds checksums does not check itself.
uint32_t masked_crc(std::string_view bytes) {
  constexpr uint32_t kShift = 0xa282ead8U;
  return std::rotr(crc32c(bytes), 15) + kShift;
}

// Length, its checksum, the event, its checksum.
std::string record(std::string_view content) {
  std::string out;
  put_raw(out, static_cast<uint64_t>(content.size()));
  put_raw(out, masked_crc(out));
  out += content;
  put_raw(out, masked_crc(content));
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
