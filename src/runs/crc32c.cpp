#include "runs/crc32c.h"

#include <array>

namespace trainyard::runs {
namespace {

// The remainder of each byte. The polynomial is written with its lowest power first.
constexpr std::array<uint32_t, 256> make_table() {
  constexpr uint32_t kPolynomial = 0x82f63b78U;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kPolynomial : 0U);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t rest = ~0U;
  for (const char c : bytes) {
    rest = (rest >> 8U) ^ kTable[(rest ^ static_cast<uint8_t>(c)) & 0xffU];
  }
  return ~rest;
}

}  // namespace trainyard::runs
