// The texts of kernels that are built into the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"

namespace trainyard::device {

std::span<const EmbeddedFile> embedded_files();

// What a driver's compiler is given for text/NAME.cl: the language's macros, functions of numbers,
// then the kernels. Reads as OpenCL C and as CUDA C++.
std::string kernel_text(std::string_view name);

// The whole number that text/TEXT.cl defines as NAME: whoever launches its kernels asks for it, so
// that it stands in one place.
int64_t kernel_constant(std::string_view text, std::string_view name);

}  // namespace trainyard::device
