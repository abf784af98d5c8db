// The ways to sum a message over all ranks. Each is one file; docs/communication.md compares them.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "dist/elements.h"
#include "dist/shared_host.h"

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

// What an algorithm works with. The scratch memory is kept between calls.
struct ReduceContext {
  Communicator& comm;
  SharedHost& host;
  std::vector<std::byte> scratch_bytes;

  // Room for as many elements of the same type, until the next call.
  Elements scratch(const Elements& like) {
    const size_t bytes = like.bytes().size();
    if (scratch_bytes.size() < bytes) scratch_bytes.resize(bytes);
    return {scratch_bytes.data(), like.count, like.dtype};
  }
};

// Called by all ranks with as many elements. Afterwards every rank holds the sum, the same bits on
// all of them and in every run of as many ranks: the order of additions does not depend on timing.
struct AllReduce {
  std::string_view name;
  std::string_view summary;
  // Whether it can run here; null: always.
  bool (*available)(const ReduceContext& context);
  void (*run)(ReduceContext& context, Elements data);
};

std::span<const AllReduce* const> all_reduces();
// Throws Error with the nearest names.
const AllReduce& find_all_reduce(std::string_view name);
// The algorithm `auto` stands for here; others are themselves.
const AllReduce& resolve_all_reduce(const AllReduce& algorithm, const ReduceContext& context,
                                    int64_t bytes);

// Around a ring of the members, in place.
void ring_all_reduce(ReduceContext& context, const Group& group, Elements data);
// Its second half: chunk i is member i's.
void ring_all_gather(const Group& group, Elements data);

// From member `root` to all, down a binomial tree.
void tree_broadcast(const Group& group, Elements data, int64_t root);

}  // namespace trainyard::dist
