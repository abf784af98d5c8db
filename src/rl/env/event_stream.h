// Where a game's luck comes from: a counter-based stream, or a recording of what another
// implementation drew.
#pragma once

#include <cstdint>
#include <deque>

#include "base/random.h"

namespace trainyard::rl {

// One recorded answer. A whole number in [low, high), or, where high is 0, a number in [0, 1).
struct Draw {
  double value = 0;
  int64_t low = 0;
  int64_t high = 0;
};

// Not thread-safe. The n-th answer depends on seed, key and n alone.
class EventStream {
 public:
  explicit EventStream(uint64_t seed = 0, uint64_t key = 0) : stream_(seed, key) {}

  // In [0, 1).
  double uniform() {
    return recorded_ == nullptr ? stream_.uniform(drawn_++) : take_recorded(0, 0);
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // In [low, high).
  int64_t between(int64_t low, int64_t high) {
    if (recorded_ != nullptr) return static_cast<int64_t>(take_recorded(low, high));
    return low + static_cast<int64_t>(stream_.below(drawn_++, static_cast<uint64_t>(high - low)));
  }

  // How many answers the stream has given; with the seed that is its whole state.
  uint64_t drawn() const { return drawn_; }
  void set_drawn(uint64_t drawn) { drawn_ = drawn; }

  // Answers come from the front of `draws`, which must outlive this; null: from the stream again.
  // A question that is not the recorded one, or one too many, throws Failure.
  void play_back(std::deque<Draw>* draws) { recorded_ = draws; }

 private:
  double take_recorded(int64_t low, int64_t high);

  RandomStream stream_;
  uint64_t drawn_ = 0;
  std::deque<Draw>* recorded_ = nullptr;
};

}  // namespace trainyard::rl
