// The files of catalog/jobs that are built into the program.
#pragma once

#include <span>
#include <string_view>

#include "base/embedded_file.h"

namespace trainyard::jobs {

std::span<const EmbeddedFile> embedded_files();

// Throws InternalError if there is no such file.
inline std::string_view embedded_file(std::string_view name) {
  return embedded_text(embedded_files(), name);
}

}  // namespace trainyard::jobs
