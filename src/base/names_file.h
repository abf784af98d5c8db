// Files of names, one a line, as labels of classes come.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard {

// The lines of a text file of at most 16 MiB, without their ends; empty ones behind the last name
// are left out. Throws Error if there is no name at all.
std::vector<std::string> read_names(const std::filesystem::path& path);

}  // namespace trainyard
