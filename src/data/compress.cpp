#include "data/compress.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "base/error.h"

namespace trainyard::data {
namespace {

constexpr int kWindowBits = 15;
constexpr int kGzipBits = 16;    // added: gzip's header
constexpr int kEitherBits = 32;  // added: whichever header is there
// Responses are made while somebody waits.
constexpr int kFastLevel = 1;
constexpr int kMemory = 8;
constexpr size_t kFirstBytes = 64 << 10;

Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

std::string compress(std::string_view bytes, Compression form) {
  z_stream stream{};
  const int bits = kWindowBits + (form == Compression::kGzip ? kGzipBits : 0);
  TY_CHECK(deflateInit2(&stream, kFastLevel, Z_DEFLATED, bits, kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
           "deflateInit2");
  TY_CHECK(bytes.size() < std::numeric_limits<uInt>::max(), "{} bytes at once", bytes.size());
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  TY_CHECK(result == Z_STREAM_END, "deflate gave {}", result);
  return out;
}

struct PieceInflater::Stream {
  z_stream z{};
};

PieceInflater::PieceInflater(std::string_view bytes, size_t most, std::string origin)
    : stream_(std::make_unique<Stream>()), most_(most), origin_(std::move(origin)) {
  z_stream& z = stream_->z;
  TY_CHECK(inflateInit2(&z, kWindowBits + kEitherBits) == Z_OK, "inflateInit2");
  z.next_in = input_of(bytes);
  z.avail_in = static_cast<uInt>(std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
}

PieceInflater::~PieceInflater() {
  inflateEnd(&stream_->z);
}

bool PieceInflater::go_on(size_t bytes) {
  z_stream& z = stream_->z;
  const size_t end = std::min(most_ + 1, text_.size() + bytes);
  int result = Z_OK;
  while (result == Z_OK && text_.size() < end) {
    const size_t have = text_.size();
    text_.resize(std::min(end, std::max(kFirstBytes, have * 2)));
    z.next_out = reinterpret_cast<Bytef*>(text_.data() + have);
    z.avail_out = static_cast<uInt>(text_.size() - have);
    result = inflate(&z, Z_NO_FLUSH);
    text_.resize(text_.size() - z.avail_out);
  }
  if (text_.size() > most_) {
    throw TooLarge(fmt::format("{} becomes larger than {} bytes", origin_, most_));
  }
  if (result == Z_OK) return true;
  TY_REQUIRE(result == Z_STREAM_END, "{} is {}", origin_,
             result == Z_BUF_ERROR ? "cut short" : "not gzip or deflate");
  return false;
}

}  // namespace trainyard::data
