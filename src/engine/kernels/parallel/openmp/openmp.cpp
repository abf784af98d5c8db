// The entry points of OpenMP that oneDNN calls. A program's own definitions come before those of
// libgomp, so that the library's work runs on our team: two on the same cores would fight.
//
// Programs of ours have this object, the library does not: a program with OpenMP of its own would
// find its regions on our team, and its loops and critical sections on libgomp's.
#include "engine/kernels/parallel/parallel.h"
#include "engine/kernels/parallel/team.h"

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
