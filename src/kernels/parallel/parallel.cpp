#include "kernels/parallel/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <unistd.h>

// libgomp's own entry points: calling them directly gives clang and g++ builds the same pool, the
// one that oneDNN runs on, without OpenMP pragmas.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
void omp_set_num_threads(int threads);
}

namespace trainyard::kernels {
namespace {

struct Work {
  int64_t count;
  RangeFunction function;
  void* context;
  // The pool synchronises threads by means the thread sanitizer does not see; these it does.
  std::atomic<int> started{0};
  std::atomic<int> finished{0};
};

void run_part(void* data) {
  Work& work = *static_cast<Work*>(data);
  work.started.load(std::memory_order_acquire);
  const int64_t parts = omp_get_num_threads();
  const int64_t part = omp_get_thread_num();
  const int64_t begin = work.count * part / parts;
  const int64_t end = work.count * (part + 1) / parts;
  if (begin < end) work.function(work.context, begin, end);
  work.finished.fetch_add(1, std::memory_order_release);
}

}  // namespace

void set_threads(int threads) {
  omp_set_num_threads(threads);
}

int threads() {
  return omp_get_max_threads();
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void shorten_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // About ten microseconds: longer than the gap between two nodes, shorter than a time slice.
  if (setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/1) != 0) return;
  // Otherwise it is a tenth of that as soon as pools of several threads of the program have more
  // threads than there are cores, however few of them work: a server's steps took twice as long.
  if (setenv("OMP_WAIT_POLICY", "active", /*overwrite=*/1) != 0) return;
  execv("/proc/self/exe", argv);
}

void parallel_ranges(int64_t count, RangeFunction function, void* context) {
  if (count <= 0) return;
  const int64_t parts = std::min<int64_t>(count, omp_get_max_threads());
  if (parts <= 1 || omp_in_parallel() != 0) {
    function(context, 0, count);
    return;
  }
  Work work{count, function, context};
  work.started.store(1, std::memory_order_release);
  GOMP_parallel(run_part, &work, static_cast<unsigned>(parts), 0);
  work.finished.load(std::memory_order_acquire);
}

}  // namespace trainyard::kernels
