// The threads that share one caller's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace trainyard::kernels {

class Team;

// Which part of a region the calling thread is in.
struct Place {
  int part = 0;
  int parts = 1;
  Team* team = nullptr;  // of a region with several parts
};
Place& place();

// A team belongs to the thread that made it, which calls run(). Every other part of a region has a
// thread of its own. One that does not come in time (it sleeps, or another process has its core)
// finds its part done by the owner, so that short work never waits for a thread to wake. Parts that
// wait for each other still meet: the owner takes over nothing before its own part has ended.
// A helper that finds itself on the owner's core moves to another. There both would only take
// turns, and where other processes run too the scheduler may leave them so for good.
class Team {
 public:
  using Function = void (*)(void*);

  Team() = default;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Has the threads of so many parts ready. Throws Failure if they cannot be had.
  void grow(int parts);
  // Calls function(data) once for each part, with place() set, and waits for all. `function` must
  // not throw.
  void run(int parts, Function function, void* data);
  // Waits until all parts of the region came here. To be called in each of them equally often.
  void meet();

 private:
  // Who has a part.
  enum State : uint32_t { kOpen = 0, kHelper = 1, kOwner = 2, kDone = 3 };

  struct alignas(64) Slot {
    // The low two bits are a State, the next says that a thread sleeps until the word changes, and
    // the others count regions. One word, so that whoever changes it learns about the sleeper in
    // the same instant: with a flag of its own, a late waker could clear that of the next sleep.
    std::atomic<uint32_t> word{kDone};
    std::thread thread;
  };

  void help(Slot& slot, int part);
  void run_part(int part);
  static uint32_t wait_for(State wanted, std::atomic<uint32_t>& word);
  uint32_t wait_for_region(std::atomic<uint32_t>& word);
  void leave_owners_core() const;
  static void change(std::atomic<uint32_t>& word, uint32_t value);

  Function function_ = nullptr;  // null: threads end
  void* data_ = nullptr;
  int parts_ = 1;
  std::atomic<int> threads_{1};               // with the owner
  std::atomic<int> owners_core_{-1};          // when the present region began
  std::vector<std::unique_ptr<Slot>> slots_;  // of parts 1, 2, …
  std::atomic<int64_t> arrived_{0};           // at meet(), in this region
};

// Runs a region of `parts` on the calling thread's team; inside of a region, in one part.
void run_region(int parts, Team::Function function, void* data);

}  // namespace trainyard::kernels
