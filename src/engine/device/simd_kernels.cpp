// Intrinsics of SSE2, which every x86-64 has: these loops wait for memory, wider vectors wait too.
#include <emmintrin.h>

#include "engine/device/host_kernels.h"

namespace trainyard::device {
namespace {

constexpr int64_t kLanes = 4;

struct PlainStore {
  void operator()(float* to, __m128 value) const { _mm_storeu_ps(to, value); }
};

struct StreamingStore {
  void operator()(float* to, __m128 value) const { _mm_stream_ps(to, value); }
};

// z = f(x, y) four at a time, the last ones by scalar_kernel().
template <typename Store, typename F>
void map_lanes(VectorOp op, const float* x, const float* y, float* z, int64_t count, F f) {
  const int64_t whole = count - count % kLanes;
  const bool two = vector_inputs(op) == 2;
  if (two) {
    for (int64_t i = 0; i < whole; i += kLanes) {
      Store()(z + i, f(_mm_loadu_ps(x + i), _mm_loadu_ps(y + i)));
    }
  } else {
    for (int64_t i = 0; i < whole; i += kLanes) {
      const __m128 value = _mm_loadu_ps(x + i);
      Store()(z + i, f(value, value));
    }
  }
  scalar_kernel(op, x + whole, two ? y + whole : nullptr, z + whole, count - whole);
}

double dot_lanes(const float* x, const float* y, int64_t count) {
  // Floats within a block, doubles over the blocks: fast, and right for any length.
  constexpr int64_t kSums = 4;
  constexpr int64_t kBlock = 64 * kLanes * kSums;
  double sum = 0;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    __m128 sums[kSums] = {};
    for (int64_t j = i; j < i + kBlock; j += kLanes * kSums) {
      for (int64_t k = 0; k < kSums; ++k) {
        const int64_t at = j + k * kLanes;
        sums[k] = _mm_add_ps(sums[k], _mm_mul_ps(_mm_loadu_ps(x + at), _mm_loadu_ps(y + at)));
      }
    }
    alignas(16) float lanes[kLanes];
    _mm_store_ps(lanes, _mm_add_ps(_mm_add_ps(sums[0], sums[1]), _mm_add_ps(sums[2], sums[3])));
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum + scalar_kernel(VectorOp::kDot, x + i, y + i, nullptr, count - i);
}

template <typename Store>
double lanes_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count) {
  const __m128 scale = _mm_set1_ps(kVectorScale);
  switch (op) {
    case VectorOp::kCopy:
      map_lanes<Store>(op, x, y, z, count, [](__m128 a, __m128) { return a; });
      break;
    case VectorOp::kScale:
      map_lanes<Store>(op, x, y, z, count, [=](__m128 a, __m128) { return _mm_mul_ps(scale, a); });
      break;
    case VectorOp::kAdd:
      map_lanes<Store>(op, x, y, z, count, [](__m128 a, __m128 b) { return _mm_add_ps(a, b); });
      break;
    case VectorOp::kTriad:
      map_lanes<Store>(op, x, y, z, count,
                       [=](__m128 a, __m128 b) { return _mm_add_ps(a, _mm_mul_ps(scale, b)); });
      break;
    case VectorOp::kDot:
      return dot_lanes(x, y, count);
  }
  return 0;
}

}  // namespace

double simd_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count) {
  return lanes_kernel<PlainStore>(op, x, y, z, count);
}

double streaming_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count) {
  const double sum = lanes_kernel<StreamingStore>(op, x, y, z, count);
  _mm_sfence();
  return sum;
}

}  // namespace trainyard::device
