// Numbers in the bytes of a stranger's file, in order, lowest byte first.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace trainyard::data {

class ByteReader {
 public:
  // Both outlive it; errors begin with `origin`.
  ByteReader(std::string_view bytes, std::string_view origin) : bytes_(bytes), origin_(origin) {}

  size_t at() const { return at_; }
  void go_to(size_t at) { at_ = at; }
  // Throws Error if the file ends before.
  std::string_view take(size_t count) {
    TY_REQUIRE(at_ <= bytes_.size() && count <= bytes_.size() - at_,
               "{}: the file ends at byte {}, expected {} more", origin_, bytes_.size(),
               count - (at_ <= bytes_.size() ? bytes_.size() - at_ : 0));
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  uint32_t number(size_t bytes) {
    const std::string_view text = take(bytes);
    uint32_t value = 0;
    for (size_t i = bytes; i > 0; --i) value = value << 8U | static_cast<uint8_t>(text[i - 1]);
    return value;
  }

 private:
  std::string_view bytes_;
  std::string_view origin_;
  size_t at_ = 0;
};

}  // namespace trainyard::data
