// Files of names, one a line, as labels of classes come.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard {

// The lines of a text file of at most 16 MiB, without their ends; empty ones behind the last name
// are left out. Throws Error if there is no name at all.
std::vector<std::string> read_names(const std::filesystem::path& path);

// The same of a file that may have none.
std::vector<std::string> read_names_if_any(const std::filesystem::path& path);

// Takes the numbers of the lines away, as in "3  great white shark" or "3: great white shark". Only
// if every line has one and a name behind it: "3D printer", "7" and a single "3 musketeers" stay.
void drop_line_numbers(std::vector<std::string>& names);

}  // namespace trainyard
