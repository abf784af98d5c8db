#include "engine/device/program_cache.h"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

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

// Empty where the user has no place of his own: others could leave programs in a shared one.
std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path root;
  if (cache != nullptr && cache[0] == '/') {
    root = cache;
  } else if (home != nullptr && home[0] == '/') {
    root = std::filesystem::path(home) / ".cache";
  }
  return root.empty() ? root : root / "trainyard" / "programs";
}

// A real folder of this user in which nobody else can write.
bool is_own_folder(const std::filesystem::path& folder) {
  struct stat found {};
  return !folder.empty() && lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Whatever the umask; one that is there already stays as it is.
void make_own_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder.parent_path(), failed);
  mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

std::filesystem::path ProgramCache::file_of(std::string_view key) const {
  return folder_ / fmt::format("{:016x}-{}", hash_text(key), key.size());
}

std::optional<std::string> ProgramCache::find(std::string_view key) const {
  if (!is_own_folder(folder_)) return {};
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
  if (folder_.empty()) return;
  make_own_folder(folder_);
  if (!is_own_folder(folder_)) return;
  try {
    write_file(file_of(key), cache_heading(key, program).append(program));
  } catch (const Failure&) {
    // As the header says.
  }
}

const ProgramCache& program_cache() {
  static const ProgramCache kCache(cache_folder());
  return kCache;
}

}  // namespace trainyard::device
