// The description of the server's calls, built into the program.
#pragma once

#include <span>
#include <string_view>

namespace trainyard::serve {

struct EmbeddedFile {
  std::string_view name;  // "openapi.json"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace trainyard::serve
