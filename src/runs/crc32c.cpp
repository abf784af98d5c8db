#include "runs/crc32c.h"

#include <array>

namespace trainyard::runs {
namespace {

using Table = std::array<uint32_t, 256>;

// The remainder of each byte. The polynomial is written with its lowest power first.
constexpr Table make_table(uint32_t polynomial) {
  Table table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? polynomial : 0U);
    table[byte] = rest;
  }
  return table;
}

constexpr Table kCastagnoli = make_table(0x82f63b78U);
constexpr Table kZip = make_table(0xedb88320U);

uint32_t checksum(const Table& table, std::string_view bytes) {
  uint32_t rest = ~0U;
  for (const char c : bytes) {
    rest = (rest >> 8U) ^ table[(rest ^ static_cast<uint8_t>(c)) & 0xffU];
  }
  return ~rest;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  return checksum(kCastagnoli, bytes);
}

uint32_t crc32(std::string_view bytes) {
  return checksum(kZip, bytes);
}

}  // namespace trainyard::runs
