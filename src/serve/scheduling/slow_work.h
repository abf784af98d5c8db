// Work beside connections and networks, which it must not hold up: pictures are decoded and large
// answers written here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

// Threads, as many as are needed up to a number; `nice` as in nice(2). Thread-safe.
class SlowWork {
 public:
  explicit SlowWork(int threads, int nice = 0) : most_threads_(threads), nice_(nice) {}
  // After what was posted.
  ~SlowWork();
  SlowWork(const SlowWork&) = delete;
  SlowWork& operator=(const SlowWork&) = delete;

  // Does a piece and says whether there is more; does not throw. Between pieces others have their
  // turn.
  using Piece = std::function<bool()>;
  // The smaller `turn` goes first. Where no thread can be had, the caller does it all.
  void post(Clock::time_point turn, Piece piece);
  // Waits until all that was posted is done.
  void finish();

  // The turn of work that came then: large work lets small work that came a little later go first,
  // and waits for none that came much later.
  static Clock::time_point turn_of(Clock::time_point arrived, int64_t pixels);

 private:
  struct Waiting {
    Clock::time_point turn;
    uint64_t order = 0;
    Piece piece;
  };
  static bool later(const Waiting& a, const Waiting& b);
  // False: there is none.
  bool start_thread();
  void work();

  int most_threads_;
  int nice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;  // a heap
  std::vector<std::thread> threads_;
  uint64_t next_order_ = 0;
  int busy_ = 0;
  bool ending_ = false;
};

// What is usual has threads of its own: it waits for nothing that is larger. The rest shares half
// of the cores, and gives way to other threads where it can.
class PictureWork {
 public:
  explicit PictureWork(int cores);

  // For work whose pieces have so many pixels at most.
  SlowWork& of(int64_t pixels);
  void finish();

 private:
  SlowWork usual_;
  SlowWork large_;
};

}  // namespace trainyard::serve
