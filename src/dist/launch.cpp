#include "dist/launch.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/stop_signals.h"

namespace trainyard::dist {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kNotFound = 127;

std::vector<std::string> command_line(int64_t ranks, std::span<const std::string> arguments,
                                      Binding binding) {
  // mpirun is told when this process is killed, and ends its ranks.
  std::vector<std::string> words = {
      "setpriv", "--pdeathsig",         "TERM",           "mpirun", "--quiet",
      "-n",      std::to_string(ranks), "--oversubscribe"};
  if (binding == Binding::kNone) words.insert(words.end(), {"--bind-to", "none"});
  if (binding == Binding::kOneCore) {
    // Two hardware threads of a core count as one core here, and as two elsewhere.
    words.insert(words.end(), {"--bind-to", "core:overload-allowed"});
  }
  words.push_back(path_of_this_program());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// In containers and on test machines everything runs as root, which mpirun refuses by itself.
std::vector<std::string> variables() {
  std::vector<std::string> all;
  if (geteuid() == 0) all = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  // mpirun looks for its helpers there and fails with its own words where it is not set.
  if (std::getenv("PATH") == nullptr) all.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  return all;
}

}  // namespace

JobEnd run_job(int64_t ranks, std::span<const std::string> arguments,
               const std::function<bool()>& wants_stop, Binding binding) {
  constexpr int kLookMs = 100;
  // Ctrl-C is for this process, which tells the ranks what they should do.
  const ChildProcess job(command_line(ranks, arguments, binding),
                         {.variables = variables(), .own_group = true});
  JobEnd end;
  // There may be no ranks yet, so it is repeated.
  constexpr auto kRepeat = std::chrono::milliseconds(500);
  auto told = std::chrono::steady_clock::time_point::min();
  do {
    const auto now = std::chrono::steady_clock::now();
    if (wants_stop() && (told == told.min() || now - told >= kRepeat)) {
      told = now;
      // Not by mpirun, which does not pass on every signal wherever it runs.
      job.send_to_children(SIGUSR1);
    }
  } while (job.read_some(end.output, kLookMs));
  end.code = job.wait();
  if (end.code == kNotFound)
    throw_failure("there is no mpirun; it is part of Open MPI (openmpi-bin)");
  TY_REQUIRE(end.code != kWrongRequest, "the {} ranks refused the request (see above)", ranks);
  return end;
}

std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments, Binding binding) {
  const StopSignals signals;
  JobEnd end = run_job(
      ranks, arguments, [&] { return signals.requested(); }, binding);
  if (signals.requested()) throw_failure("stopped; nothing is kept, the same command starts again");
  if (end.code != 0) throw_failure("the job of {} ranks ended with exit code {}", ranks, end.code);
  return std::move(end.output);
}

}  // namespace trainyard::dist
