// Ctrl-C, SIGTERM and SIGUSR1 (which ranks get from who launched them) as a wish to stop: the work
// ends its step and saves; a Ctrl-C or SIGTERM after that ends the process at once. SIGUSR1 stays a
// wish however often it comes, since who launches ranks repeats it: one may come before they
// listen.
#pragma once

namespace trainyard {

// While one lives, the first of these signals only sets requested(). One at a time; a new one
// starts unrequested. The handlers of before come back with its end, except that SIGUSR1 is ignored
// from then on if it was requested.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;
};

}  // namespace trainyard
