// The operations as loops over a part of the vectors. Each returns the part's sum for dot, 0 for
// the others. z may be null for dot, y for operations of one input.
#pragma once

#include <cstdint>

#include "engine/device/vector_case.h"

namespace trainyard::device {

using HostKernel = double (*)(VectorOp op, const float* x, const float* y, float* z, int64_t count);

// One element after another, kept so by the compiler's flags.
double scalar_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count);
// Four floats at a time.
double simd_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count);
// The same with stores that go past the caches; x, y and z are aligned to 16 bytes.
double streaming_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count);

}  // namespace trainyard::device
