// libFuzzer target: PNG and JPEG; see fuzz.h.
#include <algorithm>

#include <zlib.h>

#include "data/image.h"
#include "fuzz/fuzz.h"

namespace {

constexpr size_t kSignature = 8;
constexpr size_t kAround = 12;  // length, kind and check sum of a chunk

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Makes the check sums of a PNG hold, or libpng would refuse nearly every change.
std::string with_check_sums(std::string bytes) {
  for (size_t at = kSignature; at + kAround <= bytes.size();) {
    const size_t length = std::min<size_t>(big_endian(bytes, at), bytes.size() - at - kAround);
    const auto* chunk = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    const auto sum = static_cast<uint32_t>(crc32(0, chunk, static_cast<uInt>(length + 4)));
    for (size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xff);
    }
    at += kAround + length;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace trainyard;
  std::string text(fuzz::text_of(bytes, size));
  if (text.starts_with("\x89PNG")) text = with_check_sums(std::move(text));
  return fuzz::read_or_refuse([&] { data::decode_image(text, "fuzz"); });
}
