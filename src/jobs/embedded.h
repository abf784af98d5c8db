// The files of catalog/jobs that are built into the program.
#pragma once

#include <span>
#include <string_view>

namespace trainyard::jobs {

struct EmbeddedFile {
  std::string_view name;  // "machines.csv", "schemas/vertex.yaml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

// Throws InternalError if there is no such file.
std::string_view embedded_file(std::string_view name);

}  // namespace trainyard::jobs
