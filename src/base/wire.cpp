#include "base/wire.h"

#include "base/error.h"

namespace trainyard {

Bytes WireReader::take(uint64_t count) {
  TY_REQUIRE(count <= message_.size() - at_,
             "the file is cut off or damaged: a field at byte {} needs {} bytes, {} are left",
             position(), count, message_.size() - at_);
  const Bytes taken = message_.subspan(at_, static_cast<size_t>(count));
  at_ += static_cast<size_t>(count);
  return taken;
}

uint64_t WireReader::varint() {
  constexpr int kMostBits = 64;
  uint64_t value = 0;
  for (int shift = 0; shift < kMostBits; shift += 7) {
    const auto byte = static_cast<uint64_t>(take(1)[0]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  throw_error("byte {} is not part of a protobuf message: a number that never ends", position());
}

WireField WireReader::next() {
  const size_t start = at_;
  const uint64_t tag = varint();
  WireField field;
  TY_REQUIRE(tag >> 3 != 0 && tag >> 32 == 0,
             "byte {} is not part of a protobuf message: no field has the tag {}", base_ + start,
             tag);
  field.number = static_cast<uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      varint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      field.content = take(varint());
      break;
    case 5:
      take(4);
      break;
    default:
      throw_error("byte {} is not part of a protobuf message: wire type {}", base_ + start,
                  tag & 7);
  }
  field.type = static_cast<WireType>(tag & 7);
  field.whole = message_.subspan(start, at_ - start);
  return field;
}

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void append_tag(std::string& out, uint32_t field, WireType type) {
  append_varint(out, field << 3 | static_cast<uint32_t>(type));
}

void append_bytes_header(std::string& out, uint32_t field, uint64_t length) {
  append_tag(out, field, WireType::kBytes);
  append_varint(out, length);
}

uint64_t bytes_header_size(uint32_t field, uint64_t length) {
  std::string header;
  append_bytes_header(header, field, length);
  return header.size();
}

}  // namespace trainyard
