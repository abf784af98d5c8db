// ring: reduce-scatter, then all-gather, to the next and from the previous rank.
#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

// Chunk c starts at member c+1 and is complete when it reaches member c.
void reduce_scatter(const Group& group, Elements data, Elements scratch) {
  const int64_t n = group.size();
  const int64_t me = group.me();
  for (int64_t step = 1; step < n; ++step) {
    const Elements out = data.chunk((me - step + n) % n, n);
    const Elements mine = data.chunk((me - step - 1 + 2 * n) % n, n);
    const Elements in = scratch.range(0, mine.count);
    group.exchange((me + 1) % n, out, (me - 1 + n) % n, in);
    add(mine, in);
  }
}

void run_ring(ReduceContext& context, Elements data) {
  ring_all_reduce(context, Group::world(context.comm), data);
}

}  // namespace

void ring_all_gather(const Group& group, Elements data) {
  const int64_t n = group.size();
  const int64_t me = group.me();
  for (int64_t step = 0; step + 1 < n; ++step) {
    const Elements out = data.chunk((me - step + n) % n, n);
    const Elements in = data.chunk((me - step - 1 + n) % n, n);
    group.exchange((me + 1) % n, out, (me - 1 + n) % n, in);
  }
}

void ring_all_reduce(ReduceContext& context, const Group& group, Elements data) {
  const int64_t n = group.size();
  if (n == 2) {
    // Two send as many bytes at once, and wait for one message instead of two.
    const Elements other = context.scratch(data);
    group.exchange(1 - group.me(), data, 1 - group.me(), other);
    add(data, other);
    return;
  }
  reduce_scatter(group, data, context.scratch(data.range(0, (data.count + n - 1) / n)));
  ring_all_gather(group, data);
}

extern const AllReduce kRing = {"ring", "reduce-scatter and all-gather around a ring", nullptr,
                                run_ring};

}  // namespace trainyard::dist
