// Runs a function once per thread on OpenMP's pool, which oneDNN uses too.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// Calls work(id) for id = 0 … threads - 1, each on its own thread, and waits. work must not throw.
// Without OpenMP the calls follow each other, with the same result.
template <typename Work>
void parallel(int threads, const Work& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int id = 0; id < threads; ++id) work(id);
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
