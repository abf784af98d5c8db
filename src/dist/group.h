// Some ranks of a job, in an order: what a collective runs among.
#pragma once

#include <numeric>
#include <vector>

#include "dist/communicator.h"

namespace trainyard::dist {

// Indices of members are positions in `ranks`. Refers to the communicator.
class Group {
 public:
  Group(Communicator& comm, std::vector<int64_t> ranks, int64_t me)
      : comm_(comm), ranks_(std::move(ranks)), me_(me) {}

  // All ranks.
  static Group world(Communicator& comm) {
    std::vector<int64_t> ranks(static_cast<size_t>(comm.size()));
    std::iota(ranks.begin(), ranks.end(), int64_t{0});
    return {comm, std::move(ranks), comm.rank()};
  }

  int64_t size() const { return static_cast<int64_t>(ranks_.size()); }
  int64_t me() const { return me_; }

  void send(int64_t to, Elements data) const { comm_.send(rank(to), data.bytes()); }
  void receive(int64_t from, Elements data) const { comm_.receive(rank(from), data.bytes()); }
  void exchange(int64_t to, Elements out, int64_t from, Elements in) const {
    const Outgoing outgoing{rank(to), out.bytes()};
    const Incoming incoming{rank(from), in.bytes()};
    comm_.exchange(&outgoing, &incoming);
  }

 private:
  int64_t rank(int64_t index) const { return ranks_[static_cast<size_t>(index)]; }

  Communicator& comm_;
  std::vector<int64_t> ranks_;
  int64_t me_ = 0;
};

}  // namespace trainyard::dist
