// reduce-broadcast: rank 0 gets everybody's message, adds them up and sends the sum to each.
#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

void run_reduce_broadcast(ReduceContext& context, Elements data) {
  const Group group = Group::world(context.comm);
  if (group.me() != 0) {
    group.send(0, data);
    group.receive(0, data);
    return;
  }
  const Elements other = context.scratch(data);
  for (int64_t r = 1; r < group.size(); ++r) {
    group.receive(r, other);
    add(data, other);
  }
  for (int64_t r = 1; r < group.size(); ++r) group.send(r, data);
}

}  // namespace

extern const AllReduce kReduceBroadcast = {"reduce-broadcast",
                                           "one rank adds up and sends the sum to each", nullptr,
                                           run_reduce_broadcast};

}  // namespace trainyard::dist
