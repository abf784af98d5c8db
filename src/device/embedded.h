// The texts of kernels that are built into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace trainyard::device {

struct EmbeddedFile {
  std::string_view name;  // "vector.cl"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

// What a driver's compiler is given for text/NAME.cl: the language's macros, functions of numbers,
// then the kernels. Reads as OpenCL C and as CUDA C++.
std::string kernel_text(std::string_view name);

}  // namespace trainyard::device
