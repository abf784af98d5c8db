// Bytes in memory, compressed as HTTP has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// Unpacks either form a piece at a time: a few bytes can take long. The bytes outlive it.
class PieceInflater {
 public:
  // Problems begin with `origin`.
  PieceInflater(std::string_view bytes, size_t most, std::string origin);
  ~PieceInflater();
  PieceInflater(const PieceInflater&) = delete;
  PieceInflater& operator=(const PieceInflater&) = delete;

  // At most so many bytes more; true if some are left. Throws Error for what is damaged or cut
  // short, TooLarge for what becomes larger than `most` bytes.
  bool go_on(size_t bytes);
  size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  size_t most_;
  std::string origin_;
  std::string text_;
};

}  // namespace trainyard::data
