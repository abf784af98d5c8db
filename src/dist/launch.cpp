#include "dist/launch.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/stop_signals.h"
#include "base/text.h"

namespace trainyard::dist {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kNotFound = 127;

std::vector<std::string> command_line(int64_t ranks, std::span<const std::string> arguments,
                                      Binding binding) {
  // mpirun is told when this process is killed, and ends its ranks.
  std::vector<std::string> command = {
      "setpriv", "--pdeathsig",         "TERM",           "mpirun", "--quiet",
      "-n",      std::to_string(ranks), "--oversubscribe"};
  if (binding == Binding::kNone) command.insert(command.end(), {"--bind-to", "none"});
  if (binding == Binding::kOneCore) {
    // Two hardware threads of a core count as one core here, and as two elsewhere.
    command.insert(command.end(), {"--bind-to", "core:overload-allowed"});
  }
  command.push_back(path_of_this_program());
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// In containers and on test machines everything runs as root, which mpirun refuses by itself.
std::vector<std::string> variables() {
  std::vector<std::string> all;
  if (geteuid() == 0) all = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  // mpirun looks for its helpers there and fails with a message of its own where it is not set.
  if (std::getenv("PATH") == nullptr) all.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  return all;
}

// Open MPI waits forever where it cannot make the file that its processes share.
void require_room_for_files() {
  constexpr rlim_t kShared = 4 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= kShared) return;
  throw_failure(
      "files may have at most {} here (ulimit -f), and Open MPI needs {} for what its processes "
      "share",
      bytes_text(static_cast<double>(limit.rlim_cur)), bytes_text(static_cast<double>(kShared)));
}

// Tells whether mpirun waits for ranks that are no more, which it does if one died as it started.
class LaunchMonitor {
 public:
  // To be asked after each look at the job.
  bool are_lost(const ChildProcess& job) {
    looks_without_ = job.has_living_children() ? 0 : looks_without_ + 1;
    return looks_without_ >= kPatience;
  }

 private:
  // Looks, not seconds: this process may be held up as long as mpirun is.
  static constexpr int kPatience = 100;
  int looks_without_ = 0;
};

using Clock = std::chrono::steady_clock;

// What is done about a job that should stop, called a few times a second until it has ended.
using Stopping = std::function<void(const ChildProcess& job, Clock::duration since)>;

JobEnd watch_job(int64_t ranks, std::span<const std::string> arguments, Binding binding,
                 const std::function<bool()>& wants_stop, const Stopping& stop) {
  constexpr int kLookMs = 100;
  require_room_for_files();
  // Ctrl-C is for this process, which tells the ranks what they should do.
  const ChildProcess job(command_line(ranks, arguments, binding),
                         {.variables = variables(), .own_group = true});
  JobEnd end;
  std::optional<Clock::time_point> wanted;
  LaunchMonitor ranks_left;
  do {
    if (ranks_left.are_lost(job)) {
      job.kill_with_children();
      job.wait();
      throw_failure("mpirun waited for ranks that died as they started");
    }
    if (!wants_stop()) continue;
    if (!wanted) wanted = Clock::now();
    stop(job, Clock::now() - *wanted);
  } while (job.read_some(end.output, kLookMs));
  end.code = job.wait();
  if (end.code == kNotFound)
    throw_failure("there is no mpirun; it is part of Open MPI (openmpi-bin)");
  TY_REQUIRE(end.code != kWrongRequest, "the {} ranks refused the request (see above)", ranks);
  return end;
}

}  // namespace

JobEnd run_job(int64_t ranks, std::span<const std::string> arguments,
               const std::function<bool()>& wants_stop) {
  // Ranks may not listen yet, so it is repeated. Not by mpirun, which does not pass on every signal
  // wherever it runs.
  constexpr auto kRepeat = std::chrono::milliseconds(500);
  Clock::duration next{};
  return watch_job(ranks, arguments, Binding::kNone, wants_stop,
                   [&](const ChildProcess& job, Clock::duration since) {
                     if (since < next) return;
                     next = since + kRepeat;
                     job.send_to_listening_children(SIGUSR1);
                   });
}

std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments, Binding binding) {
  // mpirun ends its ranks in a second or two, but waits forever for one that died as it started.
  constexpr auto kPatience = std::chrono::seconds(5);
  const StopSignals signals;
  bool asked = false;
  const auto end_ranks = [&](const ChildProcess& job, Clock::duration since) {
    if (!asked) job.send(SIGTERM);
    asked = true;
    if (since >= kPatience) job.kill_with_children();
  };
  JobEnd end = watch_job(
      ranks, arguments, binding, [&] { return signals.requested(); }, end_ranks);
  if (signals.requested()) throw_failure("stopped; nothing is kept, the same command starts again");
  if (end.code != 0) throw_failure("the job of {} ranks ended with exit code {}", ranks, end.code);
  return std::move(end.output);
}

}  // namespace trainyard::dist
