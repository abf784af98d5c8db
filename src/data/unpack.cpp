#include "data/unpack.h"

#include "base/file.h"
#include "data/packed_bytes.h"

namespace trainyard::data {

std::string read_unpacked(const std::filesystem::path& path) {
  std::string content = read_file(path);
  if (content.starts_with("\x1f\x8b")) return unpack_gzip(content, path.string());
  if (content.starts_with("\x28\xb5\x2f\xfd")) return unpack_zstd(content, path.string());
  return content;
}

bool is_packed_name(const std::filesystem::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

}  // namespace trainyard::data
