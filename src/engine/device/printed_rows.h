// Rows that the programs of examples/vector_add printed, here or on a machine that has a GPU.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/device/vector_case.h"

namespace trainyard::device {

// The CSV of one or several programs, one after another; the device of a row is the name of its
// program. Throws Error naming file and line.
std::vector<VectorRow> read_printed_rows(const std::filesystem::path& file);

}  // namespace trainyard::device
