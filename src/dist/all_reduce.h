// The ways to sum a message over all ranks. Each is one file; docs/communication.md compares them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "dist/elements.h"
#include "dist/group.h"
#include "dist/shared_host.h"

namespace trainyard::dist {

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
