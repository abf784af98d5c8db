// Bytes in memory, compressed as HTTP has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard::data {

// What a few bytes would become is more than may be.
class TooLarge : public Error {
 public:
  using Error::Error;
};

enum class Compression : uint8_t { kGzip, kDeflate };  // the latter with zlib's header

std::string compress(std::string_view bytes, Compression form);
// Of either form. Throws Error beginning with `origin` for what is damaged or cut short, TooLarge
// for what becomes larger than `most` bytes.
std::string decompress(std::string_view bytes, size_t most, std::string_view origin);

}  // namespace trainyard::data
