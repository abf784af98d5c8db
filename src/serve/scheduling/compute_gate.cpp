#include "serve/scheduling/compute_gate.h"

#include <algorithm>

namespace trainyard::serve {

ComputeGate::Pass::Pass(ComputeGate& gate, int threads)
    : gate_(gate), cores_(std::min(threads, gate.cores_)) {
  std::unique_lock lock(gate.mutex_);
  const uint64_t ticket = gate.next_ticket_++;
  gate.changed_.wait(lock, [&] { return gate.serving_ == ticket && gate.free_ >= cores_; });
  ++gate.serving_;
  gate.free_ -= cores_;
  if (gate.free_ > 0) gate.changed_.notify_all();
}

ComputeGate::Pass::Pass(ComputeGate& gate, const std::function<int64_t()>& waiting)
    : gate_(gate), cores_(1) {
  std::unique_lock lock(gate.mutex_);
  const uint64_t ticket = gate.next_ticket_++;
  bool few = false;
  gate.changed_.wait(lock, [&] {
    if (gate.serving_ != ticket || gate.free_ == 0) return false;
    const int64_t jobs = waiting();
    few = jobs > 0 && jobs < gate.free_;  // with none left, nobody is to wait behind this
    return !few || gate.free_ == gate.cores_;
  });
  ++gate.serving_;
  if (few) cores_ = gate.cores_;
  gate.free_ -= cores_;
  if (gate.free_ > 0) gate.changed_.notify_all();
}

std::unique_ptr<ComputeGate::Pass> ComputeGate::Pass::at_once(ComputeGate& gate, int threads) {
  const int cores = std::min(threads, gate.cores_);
  const std::lock_guard lock(gate.mutex_);
  if (gate.serving_ != gate.next_ticket_ || gate.free_ < cores) return nullptr;
  gate.free_ -= cores;
  return std::unique_ptr<Pass>(new Pass(gate, cores, Taken()));
}

// Under the lock for a moment: a pass that has just counted the jobs would not hear it otherwise.
void ComputeGate::jobs_came() {
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

ComputeGate::Pass::~Pass() {
  {
    const std::lock_guard lock(gate_.mutex_);
    gate_.free_ += cores_;
  }
  gate_.changed_.notify_all();
}

}  // namespace trainyard::serve
