#include "runs/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

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

#ifdef __x86_64__
// The processor's own, eight bytes at a time: files of weights are as large as memory.
__attribute__((target("sse4.2"))) uint32_t fast_crc32c(std::string_view bytes) {
  uint64_t rest = ~0U;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    rest = __builtin_ia32_crc32di(rest, word);
  }
  auto last = static_cast<uint32_t>(rest);
  for (; at < bytes.size(); ++at) {
    last = __builtin_ia32_crc32qi(last, static_cast<unsigned char>(bytes[at]));
  }
  return ~last;
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return fast_crc32c(bytes);
#endif
  return checksum(kCastagnoli, bytes);
}

uint32_t masked_crc32c(std::string_view bytes) {
  constexpr uint32_t kShift = 0xa282ead8U;
  return std::rotr(crc32c(bytes), 15) + kShift;
}

uint32_t crc32(std::string_view bytes) {
  return checksum(kZip, bytes);
}

}  // namespace trainyard::runs
