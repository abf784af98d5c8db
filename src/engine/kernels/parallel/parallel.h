// Work shared among threads. Each calling thread has one team, which oneDNN uses too: two on the
// same cores would fight.
#pragma once

#include <cstdint>
#include <type_traits>

namespace trainyard::kernels {

// How many threads parallel work started by the calling thread uses from now on.
void set_threads(int threads);
int threads();
// Cores this process may run on.
int available_cores();

// Where libgomp runs oneDNN, set_threads() changes what the caller's own parallel regions use; this
// gives it back.
class CallersThreads {
 public:
  CallersThreads();
  ~CallersThreads();
  CallersThreads(const CallersThreads&) = delete;
  CallersThreads& operator=(const CallersThreads&) = delete;

 private:
  int before_ = 0;  // 0: there is no libgomp
};

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
