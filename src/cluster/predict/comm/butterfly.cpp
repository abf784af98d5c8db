// butterfly: recursive halving and doubling; each round exchanges half of what the last one did.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// Near partners come first, while the messages are large. In a round between hosts all members of
// a host share its network link, so that the host sends `local` times a member's message.
CommCost cost_butterfly(const Topology& topology, double bytes) {
  const int64_t power = dist::floor_power_of_two(topology.workers);
  CommCost total;
  double message = bytes;
  for (int64_t distance = 1; distance < power; distance *= 2) {
    message /= 2;
    const bool far = distance >= topology.local();
    const double sent = far ? message * static_cast<double>(topology.local()) : message;
    // Once while halving, once while doubling.
    total += over_link(far ? topology.between : topology.inside, 2, 2 * sent);
  }
  if (power != topology.workers) total += over_link(topology.widest(), 2, 2 * bytes);
  return total;
}

}  // namespace

extern const CommModel kCommButterfly = {"butterfly", "recursive halving and doubling",
                                         cost_butterfly};

}  // namespace trainyard::predict
