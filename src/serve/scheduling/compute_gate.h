// Keeps the cores from being oversubscribed when several models are busy: a batch runs once as many
// cores are free as its threads, first come, first served.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace trainyard::serve {

class ComputeGate {
 public:
  explicit ComputeGate(int cores) : cores_(cores), free_(cores) {}

  // Holds cores while it lives.
  class Pass {
   public:
    // Waits for them.
    Pass(ComputeGate& gate, int threads);
    // One core where as many jobs wait as cores are free; all of them, waiting for those, where
    // fewer do. `waiting` counts the jobs, the caller's among them.
    Pass(ComputeGate& gate, const std::function<int64_t()>& waiting);
    // Nothing if they are not free, or others wait.
    static std::unique_ptr<Pass> at_once(ComputeGate& gate, int threads);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    bool has_all() const { return cores_ == gate_.cores_; }

   private:
    struct Taken {};
    Pass(ComputeGate& gate, int cores, Taken) : gate_(gate), cores_(cores) {}

    ComputeGate& gate_;
    int cores_;
  };

  int cores() const { return cores_; }
  // More jobs wait than before: a pass that waits for all cores may do with one now.
  void jobs_came();

 private:
  int cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  uint64_t next_ticket_ = 0;
  uint64_t serving_ = 0;
};

}  // namespace trainyard::serve
