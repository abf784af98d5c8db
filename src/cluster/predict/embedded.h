// The catalog files that are built into the program (catalog/ in the source tree).
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace trainyard::predict {

std::span<const EmbeddedFile> embedded_files();

}  // namespace trainyard::predict
