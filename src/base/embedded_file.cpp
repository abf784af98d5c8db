#include "base/embedded_file.h"

#include "base/error.h"

namespace trainyard {

std::optional<std::string_view> find_embedded(std::span<const EmbeddedFile> files,
                                              std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return file.text;
  }
  return std::nullopt;
}

std::string_view embedded_text(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto text = find_embedded(files, name);
  TY_CHECK(text, "no file '{}' is built in", name);
  return *text;
}

}  // namespace trainyard
