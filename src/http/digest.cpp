#include "http/digest.h"

#include <array>
#include <fstream>
#include <memory>
#include <openssl/evp.h>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::serve {
namespace {

constexpr size_t kDigestChunk = size_t{1} << 20;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

std::string file_digest(const std::filesystem::path& file, DigestKind kind) {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  TY_CHECK(context &&
               EVP_DigestInit_ex(context.get(), kind == DigestKind::kMd5 ? EVP_md5() : EVP_sha256(),
                                 nullptr) == 1,
           "OpenSSL has no such digest");
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> chunk(kDigestChunk);
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    EVP_DigestUpdate(context.get(), chunk.data(), static_cast<size_t>(stream.gcount()));
  }
  TY_REQUIRE(stream.eof(), "{} cannot be read", file.string());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace trainyard::serve
