// The files of labs/ that are built into the program.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace trainyard::lab {

std::span<const EmbeddedFile> embedded_files();

}  // namespace trainyard::lab
