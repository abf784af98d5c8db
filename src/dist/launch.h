// Starting the ranks of a job on this host.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace trainyard::dist {

// The cores that ranks may use.
struct Binding {
  enum class Kind : uint8_t {
    kNone,
    kDefault,  // where the library puts them, to compare with its own speed
    kOwn,      // some of its own for each rank; there must be enough
  };
  Kind kind = Kind::kNone;
  int64_t cores = 1;  // of each rank, for kOwn
};

// Runs this program with `arguments` as `ranks` processes under mpirun and returns what they wrote
// to stdout; their stderr is ours. Ranks may outnumber cores. Throws Error if the job ended with
// exit code 2, Failure if with another or if mpirun cannot be started.
std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments,
                         const Binding& binding = {});

// How a job ended.
struct JobEnd {
  int code = 0;        // of mpirun; 128 + the signal for a rank that one ended
  std::string output;  // what the ranks wrote to stdout
};

// The same for jobs that may end otherwise. `wants_stop` is asked a few times a second; once it is
// true all ranks get SIGUSR1, which says that they should come to an end. Signals from the terminal
// do not reach the ranks.
JobEnd run_job(int64_t ranks, std::span<const std::string> arguments,
               const std::function<bool()>& wants_stop, const Binding& binding = {});

}  // namespace trainyard::dist
