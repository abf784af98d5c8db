// Keeps the cores from being oversubscribed when several models are busy: a batch runs once as many
// cores are free as its threads, first come, first served.
#pragma once

#include <condition_variable>
#include <cstdint>
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
    // Nothing if they are not free, or others wait.
    static std::unique_ptr<Pass> at_once(ComputeGate& gate, int threads);
    // Takes all other cores too, if they are free and nobody waits for them.
    bool take_rest();
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    struct Taken {};
    Pass(ComputeGate& gate, int cores, Taken) : gate_(gate), cores_(cores) {}

    ComputeGate& gate_;
    int cores_;
  };

  int cores() const { return cores_; }

 private:
  int cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  uint64_t next_ticket_ = 0;
  uint64_t serving_ = 0;
};

}  // namespace trainyard::serve
