// Runs a function once per thread.
#pragma once

#include <cstdint>

#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {

// Calls work(id) for id = 0 … threads - 1, each on its own thread as far as threads() allows, and
// waits. work must not throw.
template <typename Work>
void parallel(int threads, const Work& work) {
  parallel_for(threads, [&](int64_t begin, int64_t end) {
    for (int64_t id = begin; id < end; ++id) work(static_cast<int>(id));
  });
}

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Part `index` of `count` items cut into `parts` pieces whose sizes differ by at most one.
inline Range part_of(int64_t count, int64_t parts, int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

}  // namespace trainyard::kernels::native
