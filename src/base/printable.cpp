#include "base/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace trainyard {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

Character decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  uint32_t code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr uint32_t kFirstOfLength[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kFirstOfLength[length] || code > 0x10ffff || surrogate) return {};
  return {code, length};
}

bool is_control(uint32_t code) {
  const bool direction = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || direction;
}

std::string hex_escape(char byte) {
  return fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
}

std::string escaped(std::string_view text, bool one_line) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    const bool space = text[0] == '\n' || text[0] == '\t';
    if (character.bytes == 0) {
      out += hex_escape(text[0]);
    } else if (space && one_line) {
      out += text[0] == '\n' ? "\\n" : "\\t";
    } else if (space || !is_control(character.code)) {
      out += text.substr(0, character.bytes);
    } else {
      out += character.code < 0x100 ? fmt::format("\\x{:02x}", character.code)
                                    : fmt::format("\\u{:04x}", character.code);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return out;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = decode(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string made_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = decode(text).bytes;
    if (bytes == 0) {
      out += hex_escape(text[0]);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

std::string printable(std::string_view text) {
  return escaped(text, false);
}

std::string printable_line(std::string_view text) {
  return escaped(text, true);
}

}  // namespace trainyard
