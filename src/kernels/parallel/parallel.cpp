#include "kernels/parallel/parallel.h"

#include <algorithm>
#include <cstdlib>
#include <sched.h>

#include "kernels/parallel/team.h"

namespace trainyard::kernels {
namespace {

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int64_t count = std::strtol(text, nullptr, 10);
    if (count > 0) return static_cast<int>(std::min<int64_t>(count, 1024));
  }
  return available_cores();
}

int& wanted_threads() {
  thread_local int count = default_threads();
  return count;
}

void run_region(int parts, Team::Function function, void* data) {
  Place& here = place();
  if (parts > 1 && here.team == nullptr) {
    thread_local Team team;
    team.run(parts, function, data);
    return;
  }
  const Place before = here;
  here = {0, 1, before.team};
  function(data);
  here = before;
}

struct Work {
  int64_t count;
  RangeFunction function;
  void* context;
};

void run_part(void* data) {
  const Work& work = *static_cast<Work*>(data);
  const Place& here = place();
  const int64_t begin = work.count * here.part / here.parts;
  const int64_t end = work.count * (here.part + 1) / here.parts;
  if (begin < end) work.function(work.context, begin, end);
}

}  // namespace

void set_threads(int threads) {
  wanted_threads() = std::max(1, threads);
}

int threads() {
  return wanted_threads();
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void parallel_ranges(int64_t count, RangeFunction function, void* context) {
  if (count <= 0) return;
  const int64_t parts = std::min<int64_t>(count, threads());
  if (parts <= 1 || place().team != nullptr) {
    function(context, 0, count);
    return;
  }
  Work work{count, function, context};
  run_region(static_cast<int>(parts), run_part, &work);
}

}  // namespace trainyard::kernels

// The entry points of OpenMP that oneDNN calls. The program's own definitions come before those of
// libgomp, so the library's work runs on our team.
#define TY_OPENMP extern "C" __attribute__((visibility("default")))

TY_OPENMP void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                             unsigned /*flags*/) {
  using namespace trainyard::kernels;
  run_region(threads == 0 ? trainyard::kernels::threads() : static_cast<int>(threads), function,
             data);
}

TY_OPENMP void GOMP_barrier() {
  const trainyard::kernels::Place& here = trainyard::kernels::place();
  if (here.parts > 1) here.team->meet();
}

TY_OPENMP int omp_get_max_threads() {
  return trainyard::kernels::threads();
}

TY_OPENMP int omp_get_num_threads() {
  return trainyard::kernels::place().parts;
}

TY_OPENMP int omp_get_thread_num() {
  return trainyard::kernels::place().part;
}

TY_OPENMP int omp_in_parallel() {
  return trainyard::kernels::place().team != nullptr ? 1 : 0;
}

#undef TY_OPENMP
