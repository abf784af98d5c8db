#include <algorithm>
#include <memory>
#include <zstd.h>

#include "base/error.h"
#include "data/packed_bytes.h"

namespace trainyard::data {
namespace {

constexpr size_t kZstdChunk = size_t{1} << 20;

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

}  // namespace

std::string unpack_zstd(std::string_view packed, const std::string& origin) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  TY_CHECK(stream != nullptr, "zstd cannot be started");
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::string content;
  size_t done = 0;
  // 0 at the end of a frame.
  size_t state = 1;
  while (in.pos < in.size || state != 0) {
    // Only where it is full: files may have many small frames.
    if (done == content.size()) {
      TY_REQUIRE(done < kMostUnpacked, "{}: more than 2 GiB uncompressed", origin);
      content.resize(std::min(kMostUnpacked, std::max(kZstdChunk, 2 * done)));
    }
    ZSTD_outBuffer out{content.data() + done, content.size() - done, 0};
    const size_t before = in.pos;
    state = ZSTD_decompressStream(stream.get(), &out, &in);
    done += out.pos;
    TY_REQUIRE(ZSTD_isError(state) == 0, "{}: the zstd data is damaged near byte {} ({})", origin,
               in.pos, ZSTD_getErrorName(state));
    TY_REQUIRE(in.pos > before || out.pos > 0 || state == 0,
               "{}: the zstd data is cut short at byte {}", origin, packed.size());
  }
  content.resize(done);
  return content;
}

}  // namespace trainyard::data
