#include "data/text/run_threads.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::data {

void run_threads(int64_t threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr problem;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      problem = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(guarded);
  guarded();
  for (std::thread& thread : others) thread.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace trainyard::data
