#include "base/stop_signals.h"

#include <array>
#include <atomic>
#include <csignal>

#include "base/error.h"

namespace trainyard {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};

// Not a sig_atomic_t, which only the thread that gets the signal may read.
std::atomic<bool> was_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a handler");
bool one_lives = false;
std::array<struct sigaction, kSignals.size()> handlers_before;

void request(int) {
  was_requested = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  TY_CHECK(!one_lives, "two StopSignals at a time");
  one_lives = true;
  was_requested = false;
  struct sigaction action {};
  action.sa_handler = request;
  action.sa_flags = SA_RESTART;  // a write under way is not cut off
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &handlers_before[i]);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &handlers_before[i], nullptr);
  }
  // Repetitions of a wish that was granted must not end the process on its way out.
  if (was_requested) std::signal(SIGUSR1, SIG_IGN);
  one_lives = false;
}

bool StopSignals::requested() const {
  return was_requested;
}

}  // namespace trainyard
