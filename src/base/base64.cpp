#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"

namespace trainyard {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kNoLetter = -1;

constexpr std::array<int, 256> letter_values() {
  std::array<int, 256> values{};
  for (int& value : values) value = kNoLetter;
  for (size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<int>(i);
  }
  // The letters of the form for addresses.
  values['-'] = 62;
  values['_'] = 63;
  return values;
}

constexpr std::array<int, 256> kValues = letter_values();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  TY_REQUIRE(text.size() % 4 != 1, "base64 of {} letters", text.size());
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const int value = kValues[static_cast<unsigned char>(c)];
    TY_REQUIRE(value != kNoLetter, "'{}' is no letter of base64", c);
    bits = bits << 6 | static_cast<uint32_t>(value);
    have += 6;
    if (have >= 8) {
      have -= 8;
      bytes += static_cast<char>(bits >> have & 255U);
    }
  }
  return bytes;
}

}  // namespace trainyard
