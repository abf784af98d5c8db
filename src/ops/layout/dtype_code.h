// The numbers by which ONNX writes element types, in attributes and in files.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/dtype.h"

namespace trainyard::ops {

// None for strings, complex numbers and numbers that mean nothing.
std::optional<DType> find_dtype(int64_t code);
// Throws Error for a number that names no type, or one that is not supported (text, complex).
DType dtype_from_code(int64_t code);
int64_t dtype_code(DType dtype);

}  // namespace trainyard::ops
