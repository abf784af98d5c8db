// Element types in attributes, where ONNX writes them as numbers.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace trainyard::ops {

// Throws Error for a number that names no type, or one that is not supported (text, complex).
DType dtype_from_code(int64_t code);
int64_t dtype_code(DType dtype);

}  // namespace trainyard::ops
