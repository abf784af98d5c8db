// What a command reads from files outside its lab, as digests for its key.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "program/lab/cells.h"

namespace trainyard::lab {
namespace {

namespace fs = std::filesystem;

// A data set has some ten thousand pictures; beyond this a folder is known by its name alone.
constexpr size_t kMostEntries = 200'000;

std::string digest_of_file(const fs::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return fmt::format("{:016x}", hash_text(text));
}

// Of names, sizes and times: reading every picture of a set would take longer than many commands.
std::string digest_of_folder(const fs::path& path) {
  std::vector<std::string> entries;
  std::error_code ignored;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(path, options, ignored)) {
    if (!entry.is_regular_file(ignored)) continue;
    entries.push_back(fmt::format("{} {} {}", entry.path().lexically_relative(path).string(),
                                  entry.file_size(ignored),
                                  entry.last_write_time(ignored).time_since_epoch().count()));
    if (entries.size() > kMostEntries) return "large";
  }
  std::sort(entries.begin(), entries.end());
  return fmt::format("{:016x}", hash_text(join(entries, "\n")));
}

// The word, and its parts between the characters that separate a kind or name from a path.
std::vector<std::string> possible_names(const std::string& word) {
  std::vector<std::string> names = {word};
  for (size_t begin = 0; begin <= word.size();) {
    const size_t end = std::min(word.find_first_of(":,=", begin), word.size());
    if (end - begin < word.size() && end > begin) names.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace

Json digests_of_files(const std::vector<std::string>& words) {
  Json digests = Json::object();
  for (size_t i = 1; i < words.size(); ++i) {
    for (const std::string& name : possible_names(words[i])) {
      std::error_code ignored;
      if (fs::is_regular_file(name, ignored)) {
        digests[name] = digest_of_file(name);
      } else if (fs::is_directory(name, ignored) && name != "." && name != "/") {
        digests[name] = digest_of_folder(name);
      }
    }
  }
  return digests;
}

}  // namespace trainyard::lab
