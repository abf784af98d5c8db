// ring: reduce-scatter, then all-gather, to the next and from the previous rank.
#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

void run_ring(ReduceContext& context, Elements data) {
  const Group group = Group::world(context.comm);
  const int64_t longest = (data.count + group.size() - 1) / group.size();
  ring_reduce_scatter(group, data, context.scratch(data.range(0, longest)));
  ring_all_gather(group, data);
}

}  // namespace

// Chunk c starts at member c+1 and is complete when it reaches member c.
void ring_reduce_scatter(const Group& group, Elements data, Elements scratch) {
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

void ring_all_gather(const Group& group, Elements data) {
  const int64_t n = group.size();
  const int64_t me = group.me();
  for (int64_t step = 0; step + 1 < n; ++step) {
    const Elements out = data.chunk((me - step + n) % n, n);
    const Elements in = data.chunk((me - step - 1 + n) % n, n);
    group.exchange((me + 1) % n, out, (me - 1 + n) % n, in);
  }
}

extern const AllReduce kRing = {"ring", "reduce-scatter and all-gather around a ring", nullptr,
                                run_ring};

}  // namespace trainyard::dist
