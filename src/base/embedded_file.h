// A text file that is built into the program (cmake/ty_embed.cmake).
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace trainyard {

struct EmbeddedFile {
  std::string_view name;  // relative to its folder: "machines.csv", "schemas/vertex.yaml"
  std::string_view text;
};

// No value if there is no file of that name.
std::optional<std::string_view> find_embedded(std::span<const EmbeddedFile> files,
                                              std::string_view name);
// Of a file that the program relies on. Throws InternalError if it is not there.
std::string_view embedded_text(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace trainyard
