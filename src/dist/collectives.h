// Collective operations of all ranks: what training uses.
#pragma once

#include <optional>
#include <string_view>

#include "dist/all_reduce.h"
#include "dist/communicator.h"
#include "dist/shared_host.h"

namespace trainyard::dist {

// One per rank, made and used by all ranks in the same order, by one thread at a time. Refers to
// the communicator.
class Collectives {
 public:
  explicit Collectives(Communicator& comm) : comm_(comm), host_(comm), context_{comm, host_, {}} {}
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  Communicator& comm() const { return comm_; }
  const ReduceContext& context() const { return context_; }

  // Memory that the ranks of this host see, of the same size on all ranks; it lives as long as this
  // object. Messages inside it are reduced in place without a copy if all ranks use the same
  // offset.
  std::span<std::byte> allocate(int64_t bytes) { return host_.allocate(bytes); }

  // In place: the sum over all ranks, the same bits on each. float32 or float64 (TY_CHECKed), as
  // many elements on each rank.
  void all_reduce(Elements data, const AllReduce& algorithm);

  // Rank `root`'s elements to all.
  void broadcast(Elements data, int64_t root);

  // Returns once all ranks of this host have called it; they meet in shared memory.
  void meet() { host_.meet(0); }

  // Every rank's value, in the order of ranks.
  std::vector<double> all_gather(double value);

 private:
  Communicator& comm_;
  SharedHost host_;
  ReduceContext context_;
};

}  // namespace trainyard::dist
