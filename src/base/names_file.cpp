#include "base/names_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace trainyard {

std::vector<std::string> read_names(const std::filesystem::path& path) {
  constexpr int64_t kLargest = 16 << 20;
  std::vector<std::string> names = split(read_file(path, kLargest), '\n');
  for (std::string& name : names) {
    if (name.ends_with('\r')) name.pop_back();
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  TY_REQUIRE(!names.empty(), "{}: there is no name in it; expected one a line", path.string());
  return names;
}

}  // namespace trainyard
