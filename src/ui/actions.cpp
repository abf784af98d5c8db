#include "ui/actions.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include "http/status.h"
#include "ui/run_state.h"

namespace trainyard::ui {

using serve::refuse;
using serve::Status;

void stop_run(const Run& run) {
  const std::optional<int64_t> process = process_that_holds(run.directory);
  if (!process) {
    refuse(Status::kBadRequest, "no process of this machine works in {}", run.name);
  }
  if (kill(static_cast<pid_t>(*process), SIGTERM) != 0) {
    refuse(Status::kForbidden, "process {} cannot be asked to stop: {}", *process,
           std::strerror(errno));
  }
}

void require_resumable(const Run& run) {
  if (run.source != runs::Source::kTrainyard) {
    refuse(Status::kBadRequest, "{} was written by another program", run.name);
  }
  if (process_that_holds(run.directory) || run.state == RunState::kRunning) {
    refuse(Status::kBadRequest, "{} is running", run.name);
  }
}

}  // namespace trainyard::ui
