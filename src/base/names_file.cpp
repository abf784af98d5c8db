#include "base/names_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace trainyard {

std::vector<std::string> read_names_if_any(const std::filesystem::path& path) {
  constexpr int64_t kLargest = 16 << 20;
  std::vector<std::string> names = split(read_file(path, kLargest), '\n');
  for (std::string& name : names) {
    if (name.ends_with('\r')) name.pop_back();
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

std::vector<std::string> read_names(const std::filesystem::path& path) {
  std::vector<std::string> names = read_names_if_any(path);
  TY_REQUIRE(!names.empty(), "{}: there is no name in it; expected one a line", path.string());
  return names;
}

void drop_line_numbers(std::vector<std::string>& names) {
  std::vector<size_t> starts;
  for (const std::string& name : names) {
    const size_t number = name.find_first_not_of(" \t");
    const size_t behind = name.find_first_not_of("0123456789", number);
    const size_t start = name.find_first_not_of(" \t:", behind);
    // Beyond the end, all three are npos.
    if (behind == number || start == behind || start == std::string::npos) return;
    starts.push_back(start);
  }
  for (size_t i = 0; i < names.size(); ++i) names[i].erase(0, starts[i]);
}

}  // namespace trainyard
