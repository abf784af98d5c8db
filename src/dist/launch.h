// Starting the ranks of a job on this host.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace trainyard::dist {

// The cores that ranks may use: all, where the library puts them (to compare with its own speed),
// or one each, in turn if there are fewer.
enum class Binding : uint8_t { kNone, kDefault, kOneCore };

// Runs this program with `arguments` as `ranks` processes under mpirun and returns what they wrote
// to stdout; their stderr is ours. Ranks may outnumber cores. Throws Error if the job ended with
// exit code 2, Failure if with another, if mpirun cannot be started, or if a signal asked to stop:
// the ranks are then ended, whatever they are doing.
std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments,
                         Binding binding = Binding::kNone);

// How a job ended.
struct JobEnd {
  int code = 0;        // of mpirun; 128 + the signal for a rank that one ended
  std::string output;  // what the ranks wrote to stdout
};

// The same for jobs that may end otherwise and save before they do. `wants_stop` is asked a few
// times a second; once it is true all ranks that listen (StopSignals) get SIGUSR1, again and again,
// which says that they should come to an end. Signals from the terminal do not reach the ranks.
JobEnd run_job(int64_t ranks, std::span<const std::string> arguments,
               const std::function<bool()>& wants_stop);

}  // namespace trainyard::dist
