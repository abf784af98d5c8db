#include "data/text/byte_letters.h"

#include "data/text/unicode.h"

namespace trainyard::data {
namespace {

// Bytes that are printable in Latin-1 stand for themselves, the others for U+0100 and later.
constexpr bool is_itself(int byte) {
  return (0x21 <= byte && byte <= 0x7e) || (0xa1 <= byte && byte <= 0xac) || byte >= 0xae;
}

constexpr uint32_t kFirstOther = 0x100;

constexpr std::array<uint32_t, 256> make_letters() {
  std::array<uint32_t, 256> letters{};
  uint32_t other = kFirstOther;
  for (int byte = 0; byte < 256; ++byte) {
    letters[static_cast<size_t>(byte)] = is_itself(byte) ? static_cast<uint32_t>(byte) : other++;
  }
  return letters;
}

constexpr std::array<uint32_t, 256> kLetterOf = make_letters();
constexpr size_t kLetterEnd = 0x144;

constexpr std::array<int16_t, kLetterEnd> make_bytes() {
  std::array<int16_t, kLetterEnd> bytes{};
  bytes.fill(-1);
  for (size_t byte = 0; byte < 256; ++byte) bytes[kLetterOf[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr std::array<int16_t, kLetterEnd> kByteOf = make_bytes();

constexpr std::array<uint8_t, 256> make_order() {
  std::array<uint8_t, 256> order{};
  size_t count = 0;
  for (const int16_t byte : kByteOf) {
    if (byte >= 0) order[count++] = static_cast<uint8_t>(byte);
  }
  return order;
}

constexpr std::array<uint8_t, 256> kOrder = make_order();

}  // namespace

const std::array<uint8_t, 256>& bytes_by_letter() {
  return kOrder;
}

std::string to_letters(std::string_view bytes) {
  std::string letters;
  for (const char c : bytes) append_utf8(letters, kLetterOf[static_cast<unsigned char>(c)]);
  return letters;
}

std::optional<std::string> from_letters(std::string_view letters) {
  std::string bytes;
  for (size_t at = 0; at < letters.size();) {
    const Character character = character_at(letters, at);
    if (character.code >= kLetterEnd || kByteOf[character.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kByteOf[character.code]);
    at += character.bytes;
  }
  return bytes;
}

}  // namespace trainyard::data
