// Started by mpirun: checks every all-reduce over MPI. Exit code 0 if nothing is wrong.
#include <iostream>

#include "dist/mpi/mpi_ranks.h"
#include "support/all_reduce_checks.h"

int main() {
  using namespace trainyard::dist;
  return run_as_mpi_rank([](Communicator& comm) {
    Collectives collectives(comm);
    // Kernels write gradients into windows by whole vectors.
    const auto memory = collectives.allocate(1000);
    if (reinterpret_cast<uintptr_t>(memory.data()) % 64 != 0) {
      std::cerr << "rank " << comm.rank() << ": a window is not aligned\n";
      return 1;
    }
    for (const auto& check : {check_find_message, check_find_late}) {
      if (const std::string wrong = check(comm); !wrong.empty()) {
        std::cerr << "rank " << comm.rank() << ": " << wrong << '\n';
        return 1;
      }
    }
    for (const AllReduce* algorithm : all_reduces()) {
      const std::string wrong = check_all_reduce(collectives, *algorithm);
      if (!wrong.empty()) {
        std::cerr << "rank " << comm.rank() << ": " << wrong << '\n';
        return 1;
      }
    }
    if (comm.rank() == 0) std::cout << "all-reduces are right on " << comm.size() << " ranks\n";
    return 0;
  });
}
