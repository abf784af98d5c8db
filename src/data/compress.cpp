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

std::string decompress(std::string_view bytes, size_t most, std::string_view origin) {
  z_stream stream{};
  TY_CHECK(inflateInit2(&stream, kWindowBits + kEitherBits) == Z_OK, "inflateInit2");
  std::string out;
  stream.next_in = input_of(bytes);
  stream.avail_in =
      static_cast<uInt>(std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
  int result = Z_OK;
  while (result == Z_OK && out.size() <= most) {
    const size_t have = out.size();
    out.resize(std::min(most + 1, std::max(kFirstBytes, have * 2)));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(out.size() - have);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > most) {
    throw TooLarge(fmt::format("{} becomes larger than {} bytes", origin, most));
  }
  TY_REQUIRE(result == Z_STREAM_END, "{} is {}", origin,
             result == Z_BUF_ERROR || result == Z_OK ? "cut short" : "not gzip or deflate");
  return out;
}

}  // namespace trainyard::data
