// Files that may be compressed.
#pragma once

#include <filesystem>
#include <string>

namespace trainyard::data {

// The content of the file, uncompressed if it begins as a gzip file does. Throws Error naming the
// file if it is cut short, damaged or larger than 2 GiB.
std::string read_maybe_gzip(const std::filesystem::path& path);

}  // namespace trainyard::data
