// What drivers compiled, kept on the disk from one run to the next.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::device {

// Two keys that differ never share a program: `key` says all that the result depends on (device,
// driver, options, text).
//
// Programs run with the user's rights, so a folder that another owns, in which others may write, or
// that is a link is neither read nor written; an empty path keeps nothing.
class ProgramCache {
 public:
  explicit ProgramCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Nothing if there is none, or if the file is not what was stored.
  std::optional<std::string> find(std::string_view key) const;
  // A folder that cannot be written is no error: the next run compiles again.
  void store(std::string_view key, std::string_view program) const;

 private:
  std::filesystem::path file_of(std::string_view key) const;

  std::filesystem::path folder_;
};

// In $XDG_CACHE_HOME/trainyard/programs, or under ~/.cache; nowhere if neither is set.
const ProgramCache& program_cache();

}  // namespace trainyard::device
