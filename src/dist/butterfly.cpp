// butterfly: reduce-scatter by recursive halving, all-gather by recursive doubling.
#include <vector>

#include "dist/all_reduce.h"
#include "dist/collective_plan.h"

namespace trainyard::dist {
namespace {

struct Half {
  int64_t partner = 0;
  Elements kept;
  Elements given;
};

// Among `power` ranks; `rank_of` maps their numbers to ranks of the job.
template <typename RankOf>
void halve_and_double(ReduceContext& context, const Group& group, Elements data, int64_t number,
                      int64_t power, RankOf rank_of) {
  std::vector<Half> halves;
  Elements kept = data;
  for (int64_t distance = 1; distance < power; distance *= 2) {
    Half half{rank_of(number ^ distance), kept.chunk(0, 2), kept.chunk(1, 2)};
    if ((number & distance) != 0) std::swap(half.kept, half.given);
    const Elements in = context.scratch(half.kept);
    group.exchange(half.partner, half.given, half.partner, in);
    add(half.kept, in);
    kept = half.kept;
    halves.push_back(half);
  }
  for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
    group.exchange(half->partner, half->kept, half->partner, half->given);
  }
}

// The first 2·surplus ranks form pairs; the odd one of each works for both.
void run_butterfly(ReduceContext& context, Elements data) {
  const Group group = Group::world(context.comm);
  const int64_t power = floor_power_of_two(group.size());
  const int64_t surplus = group.size() - power;
  const int64_t me = group.me();
  const bool paired = me < 2 * surplus;
  if (paired && me % 2 == 0) {
    group.send(me + 1, data);
    group.receive(me + 1, data);
    return;
  }
  if (paired) {
    const Elements other = context.scratch(data);
    group.receive(me - 1, other);
    add(data, other);
  }
  halve_and_double(context, group, data, paired ? me / 2 : me - surplus, power,
                   [&](int64_t n) { return n < surplus ? 2 * n + 1 : n + surplus; });
  if (paired) group.send(me - 1, data);
}

}  // namespace

extern const AllReduce kButterfly = {"butterfly", "recursive halving, then recursive doubling",
                                     nullptr, run_butterfly};

}  // namespace trainyard::dist
