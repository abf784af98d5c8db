// Ctrl-C, SIGTERM and SIGUSR1 (which mpirun passes on to its ranks) as a wish to stop: the work
// ends its step and saves; the second signal ends the process at once.
#pragma once

namespace trainyard {

// While one lives, the first of these signals only sets requested(). One at a time; a new one
// starts unrequested. The handlers of before come back with its end.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;
};

}  // namespace trainyard
