// Work shared among threads. There is one pool in the process, the one oneDNN uses: two pools on
// the same cores would fight.
#pragma once

#include <cstdint>
#include <type_traits>

namespace trainyard::kernels {

// How many threads parallel work started by the calling thread uses from now on.
void set_threads(int threads);
int threads();
// Cores this process may run on.
int available_cores();

// To be called first thing in main(). The pool's threads spin while they wait for work, by default
// so long that on a busy machine most of the time goes into spinning; the length can only be set
// in the environment, before the program starts. So this sets it and starts the program again,
// once. Whoever sets GOMP_SPINCOUNT or OMP_WAIT_POLICY is obeyed.
void shorten_spinning(char** argv);

using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);
void parallel_ranges(int64_t count, RangeFunction function, void* context);

// Calls f(begin, end) with consecutive parts of [0, count), one per thread, and waits. f must not
// throw.
template <typename F>
void parallel_for(int64_t count, F&& f) {
  using Function = std::remove_reference_t<F>;
  parallel_ranges(
      count,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<Function*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace trainyard::kernels
