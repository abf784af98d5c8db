// Starting the ranks of a job on this host.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trainyard::dist {

// Runs this program with `arguments` as `ranks` processes under mpirun and returns what they wrote
// to stdout; their stderr is ours. Ranks may outnumber cores. Throws Error if the job ended with
// exit code 2, Failure if with another or if mpirun cannot be started.
std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments);

}  // namespace trainyard::dist
