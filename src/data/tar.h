// Archives of pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::data {

struct Unpacked {
  int64_t files = 0;
  int64_t bytes = 0;
  std::vector<std::filesystem::path> archives;  // of the files, those that are tar archives too
};

// Writes the files of a tar archive, compressed by gzip or not, below `folder`; what is there is
// replaced, each file at once. Names that lead out of the folder, and links, are refused. Throws
// Error naming the archive if it is damaged or cut short.
Unpacked unpack_tar(const std::filesystem::path& archive, const std::filesystem::path& folder);

}  // namespace trainyard::data
