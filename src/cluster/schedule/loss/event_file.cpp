#include "cluster/schedule/loss/event_file.h"

#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/wire.h"

namespace trainyard::schedule {
namespace {

// The number of a varint field.
uint64_t varint_of(const WireField& field) {
  WireReader reader(field.whole);
  reader.varint();
  return reader.varint();
}

float float_at(Bytes bytes) {
  float value = 0;
  if (bytes.size() >= sizeof value) std::memcpy(&value, bytes.data() + bytes.size() - 4, 4);
  return value;
}

// TensorProto: float_val (5), or tensor_content (4) of one float.
std::optional<double> tensor_value(Bytes message) {
  WireReader reader(message);
  std::optional<double> value;
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 5) value = float_at(field.whole);
    if (field.number == 4 && field.content.size() == 4) value = float_at(field.content);
  }
  return value;
}

// Summary.Value: tag (1), simple_value (2), tensor (8).
void add_value(Bytes message, int64_t step, std::vector<EventScalar>& out) {
  EventScalar scalar{.step = step};
  std::optional<double> value;
  WireReader reader(message);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 1) {
      scalar.tag.assign(reinterpret_cast<const char*>(field.content.data()), field.content.size());
    }
    if (field.number == 2) value = float_at(field.whole);
    if (field.number == 8) value = tensor_value(field.content);
  }
  if (!value) return;
  scalar.value = *value;
  out.push_back(std::move(scalar));
}

// Event: step (2), summary (5), whose field 1 are the values.
void add_event(Bytes message, size_t base, std::vector<EventScalar>& out) {
  int64_t step = 0;
  Bytes summary;
  WireReader reader(message, base);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 2 && field.type == WireType::kVarint) {
      step = static_cast<int64_t>(varint_of(field));
    }
    if (field.number == 5 && field.type == WireType::kBytes) summary = field.content;
  }
  WireReader values(summary, base);
  while (!values.done()) {
    const WireField field = values.next();
    if (field.number == 1 && field.type == WireType::kBytes) add_value(field.content, step, out);
  }
}

}  // namespace

std::vector<EventScalar> read_event_scalars(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const Bytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  std::vector<EventScalar> scalars;
  // A record is its length, a checksum, the event and a checksum.
  constexpr size_t kAround = 12 + 4;
  for (size_t at = 0; at + kAround <= bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length > bytes.size() - at - kAround) break;
    try {
      add_event(bytes.subspan(at + 12, length), at + 12, scalars);
    } catch (const Error& error) {
      throw_error("{}: not a TensorBoard event file: {}", path.string(), error.what());
    }
    at += kAround + length;
  }
  return scalars;
}

}  // namespace trainyard::schedule
