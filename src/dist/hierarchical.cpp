// hierarchical: reduce-scatter inside each host, a ring between hosts for each share, all-gather
// inside. Inside, a message that lies in a window is summed in shared memory.
#include <algorithm>
#include <map>
#include <optional>

#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

// As many shares as the smallest host has members; member j of every host is in charge of share j.
struct Shares {
  int64_t count = 0;
  std::vector<int64_t> mine;  // ranks in charge of the same share as this one; empty: of none
  int64_t host = 0;           // this host's position in `mine`
};

Shares plan_shares(const ReduceContext& context) {
  std::map<int64_t, std::vector<int64_t>> members;
  const auto hosts = context.comm.hosts();
  for (size_t r = 0; r < hosts.size(); ++r) members[hosts[r]].push_back(static_cast<int64_t>(r));
  Shares shares;
  shares.count = context.host.members();
  for (const auto& [host, ranks] : members) {
    shares.count = std::min(shares.count, static_cast<int64_t>(ranks.size()));
  }
  if (context.host.me() >= shares.count) return shares;
  for (const auto& [host, ranks] : members) {
    if (ranks == context.host.ranks()) shares.host = static_cast<int64_t>(shares.mine.size());
    shares.mine.push_back(ranks[static_cast<size_t>(context.host.me())]);
  }
  return shares;
}

void reduce_between(ReduceContext& context, const Shares& shares, Elements share) {
  ring_all_reduce(context, Group(context.comm, shares.mine, shares.host), share);
}

// Partners at distance 1, 2, …, so that sends and receives always meet.
template <typename Step>
void with_each_partner(const SharedHost& host, Step step) {
  const int64_t n = host.members();
  for (int64_t d = 1; d < n; ++d) step((host.me() + d) % n, (host.me() - d + n) % n);
}

void by_messages(ReduceContext& context, const Shares& shares, Elements data) {
  const SharedHost& host = context.host;
  const auto rank = [&](int64_t m) { return host.ranks()[static_cast<size_t>(m)]; };
  const bool owner = host.me() < shares.count;
  const Elements mine = owner ? data.chunk(host.me(), shares.count) : Elements{};
  with_each_partner(host, [&](int64_t to, int64_t from) {
    const bool sends = to < shares.count;
    const Elements given = sends ? data.chunk(to, shares.count) : Elements{};
    const Elements other = context.scratch(mine);
    const Outgoing out{rank(to), given.bytes()};
    const Incoming in{rank(from), other.bytes()};
    context.comm.exchange(sends ? &out : nullptr, owner ? &in : nullptr);
    if (owner) add(mine, {other.data, mine.count, mine.dtype});
  });
  if (owner) reduce_between(context, shares, mine);
  with_each_partner(host, [&](int64_t to, int64_t from) {
    const bool receives = from < shares.count;
    const Elements theirs = receives ? data.chunk(from, shares.count) : Elements{};
    const Outgoing out{rank(to), mine.bytes()};
    const Incoming in{rank(from), theirs.bytes()};
    context.comm.exchange(owner ? &out : nullptr, receives ? &in : nullptr);
  });
}

void in_window(ReduceContext& context, const Shares& shares, Elements data,
               std::span<std::byte* const> parts) {
  SharedHost& host = context.host;
  const auto bytes = static_cast<int64_t>(data.bytes().size());
  host.meet(bytes);
  if (host.me() < shares.count) {
    const Elements mine = data.chunk(host.me(), shares.count);
    std::vector<const std::byte*> at;
    for (const std::byte* part : parts) at.push_back(part + (mine.data - data.data));
    sum_parts(mine, at);
    reduce_between(context, shares, mine);
  }
  host.meet(bytes);
  for (int64_t owner = 0; owner < shares.count; ++owner) {
    if (owner == host.me()) continue;
    const Elements share = data.chunk(owner, shares.count);
    const std::byte* from = parts[static_cast<size_t>(owner)] + (share.data - data.data);
    std::copy_n(from, share.bytes().size(), share.data);
  }
  host.meet(bytes);
}

void run_hierarchical(ReduceContext& context, Elements data) {
  const Shares shares = plan_shares(context);
  if (const auto parts = context.host.parts_of(data.bytes())) {
    in_window(context, shares, data, *parts);
  } else {
    by_messages(context, shares, data);
  }
}

}  // namespace

extern const AllReduce kHierarchical = {
    "hierarchical", "inside the hosts first, then a ring between them", nullptr, run_hierarchical};

}  // namespace trainyard::dist
