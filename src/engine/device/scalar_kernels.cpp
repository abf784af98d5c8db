#include "engine/device/host_kernels.h"

namespace trainyard::device {

double scalar_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count) {
  double sum = 0;
  switch (op) {
    case VectorOp::kCopy:
      for (int64_t i = 0; i < count; ++i) z[i] = x[i];
      break;
    case VectorOp::kScale:
      for (int64_t i = 0; i < count; ++i) z[i] = kVectorScale * x[i];
      break;
    case VectorOp::kAdd:
      for (int64_t i = 0; i < count; ++i) z[i] = x[i] + y[i];
      break;
    case VectorOp::kTriad:
      for (int64_t i = 0; i < count; ++i) z[i] = x[i] + kVectorScale * y[i];
      break;
    case VectorOp::kDot:
      // In double: a sum of 100 million terms in float would stop growing on the way.
      for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i] * y[i]);
      break;
  }
  return sum;
}

}  // namespace trainyard::device
