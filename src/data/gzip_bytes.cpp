#include <algorithm>

#include <zlib.h>

#include "base/error.h"
#include "data/packed_bytes.h"

namespace trainyard::data {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
// zlib's code for "a gzip header, and the largest window".
constexpr int kGzipWindow = 16 + MAX_WBITS;

class Inflater {
 public:
  Inflater() { TY_CHECK(inflateInit2(&stream_, kGzipWindow) == Z_OK, "zlib cannot be started"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

std::string unpack_gzip(std::string_view packed, const std::string& origin) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string content;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const size_t done = content.size();
    TY_REQUIRE(done < kMostUnpacked, "{}: more than 2 GiB uncompressed", origin);
    // Doubling, so that growing costs little.
    content.resize(std::min(kMostUnpacked, std::max(kChunk, 2 * done)));
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + done);
    stream.avail_out = static_cast<uInt>(content.size() - done);
    state = inflate(&stream, Z_NO_FLUSH);
    content.resize(content.size() - stream.avail_out);
    TY_REQUIRE(state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR,
               "{}: the gzip data is damaged near byte {} ({})", origin, stream.total_in,
               stream.msg == nullptr ? "no reason given" : stream.msg);
    TY_REQUIRE(state == Z_STREAM_END || stream.avail_in > 0 || stream.avail_out == 0,
               "{}: the gzip data is cut short at byte {}", origin, packed.size());
  }
  TY_REQUIRE(stream.avail_in == 0, "{}: {} bytes follow the end of the gzip data at byte {}",
             origin, stream.avail_in, stream.total_in);
  return content;
}

}  // namespace trainyard::data
