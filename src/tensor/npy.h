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

// Atomic, as write_file(). bf16 and narrow types, which NumPy does not know, are written as f32,
// texts as bytes of one length (S), which are not read again.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);
std::string npy_bytes(const Tensor& tensor);

}  // namespace trainyard
