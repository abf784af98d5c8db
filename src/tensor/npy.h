// NumPy's .npy files: one tensor each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace trainyard {

// Throws Error naming the file and what is wrong with it. Fortran order and big-endian numbers are
// not read.
Tensor read_npy(const std::filesystem::path& path);
// The same for bytes in memory; `origin` names them in errors.
Tensor parse_npy(std::string_view bytes, std::string_view origin);

// Atomic, as write_file(). bf16, which NumPy does not know, is written as f32.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);
std::string npy_bytes(const Tensor& tensor);

}  // namespace trainyard
