#include "engine/kernels/parallel/parallel.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>

#include "engine/kernels/parallel/team.h"

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

Team& own_team() {
  thread_local Team team;
  return team;
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

// libgomp's, which runs oneDNN in a program that does not have openmp.cpp; null: it is not there.
template <typename Function>
Function libgomp(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void tell_libgomp(int threads) {
  static const auto set = libgomp<void (*)(int)>("omp_set_num_threads");
  if (set != nullptr) set(threads);
}

}  // namespace

void run_region(int parts, Team::Function function, void* data) {
  Place& here = place();
  if (parts > 1 && here.team == nullptr) {
    own_team().run(parts, function, data);
    return;
  }
  const Place before = here;
  here = {0, 1, before.team};
  function(data);
  here = before;
}

// The threads are started here, where that may fail, rather than below a library's own frames.
void set_threads(int threads) {
  if (threads > 1 && place().team == nullptr) own_team().grow(threads);
  wanted_threads() = std::max(1, threads);
  tell_libgomp(wanted_threads());
}

int threads() {
  return wanted_threads();
}

CallersThreads::CallersThreads() {
  static const auto get = libgomp<int (*)()>("omp_get_max_threads");
  if (get != nullptr) before_ = get();
}

CallersThreads::~CallersThreads() {
  if (before_ > 0) tell_libgomp(before_);
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
