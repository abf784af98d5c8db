// The protobuf wire format, as far as streaming needs it: tags, varints and length-delimited
// fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainyard {

using Bytes = std::span<const std::byte>;

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  Bytes content;  // kBytes: what the length counts
  Bytes whole;    // tag, length and content
};

// Walks the fields of one message. Throws Error with the byte position for what is no message.
class WireReader {
 public:
  // `base` is the position of `message` in the file.
  explicit WireReader(Bytes message, size_t base = 0) : message_(message), base_(base) {}

  bool done() const { return at_ == message_.size(); }
  WireField next();
  // One varint, for packed fields.
  uint64_t varint();
  size_t position() const { return base_ + at_; }

 private:
  Bytes take(uint64_t count);

  Bytes message_;
  size_t base_;
  size_t at_ = 0;
};

void append_varint(std::string& out, uint64_t value);
// The number and the kind of a field; its value is to follow.
void append_tag(std::string& out, uint32_t field, WireType type);
// Tag and length of a length-delimited field; its content is to follow.
void append_bytes_header(std::string& out, uint32_t field, uint64_t length);
// How many bytes append_bytes_header() writes.
uint64_t bytes_header_size(uint32_t field, uint64_t length);

}  // namespace trainyard
