// The transport between processes: MPI.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace trainyard::dist {

// Whether a launcher (mpirun, srun) started this process as a rank of a job.
bool launched_as_rank();

// Joins the job, calls `body` with this process's rank and leaves the job; the answer is the
// body's. If the body throws, the rank says why on stderr and ends the whole job with exit code 2
// (Error), 1 (Failure) or 3. MPI is initialized once: call it once per process.
int run_as_mpi_rank(const std::function<int(Communicator&)>& body);

}  // namespace trainyard::dist
