// The files of labs/ that are built into the program.
#pragma once

#include <span>
#include <string_view>

namespace trainyard::lab {

struct EmbeddedFile {
  std::string_view name;  // "tour.yaml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

// Empty if there is no such file.
std::string_view embedded_file(std::string_view name);

}  // namespace trainyard::lab
