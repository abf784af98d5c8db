// Vectors of four floats, which every x86-64 and every aarch64 has: these loops wait for memory,
// wider vectors wait too.
#include <cstring>

#include "engine/device/host_kernels.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace trainyard::device {
namespace {

constexpr int64_t kLanes = 4;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;

Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

struct PlainStore {
  void operator()(float* to, Lanes value) const { std::memcpy(to, &value, sizeof value); }
};

// Past the caches, where the processor has such stores.
#if defined(__x86_64__)
struct StreamingStore {
  void operator()(float* to, Lanes value) const { _mm_stream_ps(to, value); }
};
void finish_streaming() {
  _mm_sfence();
}
#else
using StreamingStore = PlainStore;
void finish_streaming() {}
#endif

// z = f(x, y) four at a time, the last ones by scalar_kernel().
template <typename Store, typename F>
void map_lanes(VectorOp op, const float* x, const float* y, float* z, int64_t count, F f) {
  const int64_t whole = count - count % kLanes;
  const bool two = vector_inputs(op) == 2;
  if (two) {
    for (int64_t i = 0; i < whole; i += kLanes) {
      Store()(z + i, f(load(x + i), load(y + i)));
    }
  } else {
    for (int64_t i = 0; i < whole; i += kLanes) {
      const Lanes value = load(x + i);
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
    Lanes sums[kSums] = {};
    for (int64_t j = i; j < i + kBlock; j += kLanes * kSums) {
      for (int64_t k = 0; k < kSums; ++k) {
        const int64_t at = j + k * kLanes;
        sums[k] += load(x + at) * load(y + at);
      }
    }
    const Lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(all[lane]);
  }
  return sum + scalar_kernel(VectorOp::kDot, x + i, y + i, nullptr, count - i);
}

template <typename Store>
double lanes_kernel(VectorOp op, const float* x, const float* y, float* z, int64_t count) {
  const Lanes scale = {kVectorScale, kVectorScale, kVectorScale, kVectorScale};
  switch (op) {
    case VectorOp::kCopy:
      map_lanes<Store>(op, x, y, z, count, [](Lanes a, Lanes) { return a; });
      break;
    case VectorOp::kScale:
      map_lanes<Store>(op, x, y, z, count, [=](Lanes a, Lanes) { return scale * a; });
      break;
    case VectorOp::kAdd:
      map_lanes<Store>(op, x, y, z, count, [](Lanes a, Lanes b) { return a + b; });
      break;
    case VectorOp::kTriad:
      map_lanes<Store>(op, x, y, z, count, [=](Lanes a, Lanes b) { return a + scale * b; });
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
  finish_streaming();
  return sum;
}

}  // namespace trainyard::device
