// The descriptions of the server's calls, built into the program.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace trainyard::serve {

std::span<const EmbeddedFile> embedded_files();

}  // namespace trainyard::serve
