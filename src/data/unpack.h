// Files that may be compressed.
#pragma once

#include <filesystem>
#include <string>

namespace trainyard::data {

// The content of the file, uncompressed if it begins as a file of gzip or zstd does. Throws Error
// naming the file if it is cut short, damaged or larger than 2 GiB.
std::string read_unpacked(const std::filesystem::path& path);

// Whether a name ends as those of such files do.
bool is_packed_name(const std::filesystem::path& path);

}  // namespace trainyard::data
