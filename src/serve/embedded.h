// The descriptions of the server's calls, built into the program.
#pragma once

#include <span>
#include <string_view>

namespace trainyard::serve {

struct EmbeddedFile {
  std::string_view name;  // "openapi.json"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();
// The text of a file that is there.
std::string_view find_embedded(std::string_view name);

}  // namespace trainyard::serve
