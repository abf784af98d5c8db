#include "engine/device/program_cache.h"

#include <cstdlib>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

namespace trainyard::device {
namespace {

// Ends the first line of a file, which holds the key's and the program's hash and length.
std::string cache_heading(std::string_view key, std::string_view program) {
  return fmt::format("trainyard program {:016x} {} {:016x} {}\n", hash_text(key), key.size(),
                     hash_text(program), program.size());
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::filesystem::path(cache) / "trainyard";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "/tmp") / ".cache" / "trainyard";
}

}  // namespace

std::filesystem::path ProgramCache::file_of(std::string_view key) const {
  return folder_ / fmt::format("{:016x}-{}", hash_text(key), key.size());
}

std::optional<std::string> ProgramCache::find(std::string_view key) const {
  const std::filesystem::path file = file_of(key);
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return {};
  std::string content;
  try {
    content = read_file(file);
  } catch (const Error&) {
    return {};
  }
  const size_t line = content.find('\n');
  if (line == std::string::npos) return {};
  std::string program = content.substr(line + 1);
  if (content.compare(0, line + 1, cache_heading(key, program)) != 0) return {};
  return program;
}

void ProgramCache::store(std::string_view key, std::string_view program) const {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed) return;
  try {
    write_file(file_of(key), cache_heading(key, program).append(program));
  } catch (const Failure&) {
    // As the header says.
  }
}

const ProgramCache& program_cache() {
  static const ProgramCache kCache(cache_folder() / "programs");
  return kCache;
}

}  // namespace trainyard::device
