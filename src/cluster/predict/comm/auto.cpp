// auto: whichever all-reduce is fastest for this message on this topology.
#include "cluster/predict/comm/comm.h"

namespace trainyard::predict {

extern const CommModel kCommAuto;

namespace {

CommCost cost_auto(const Topology& topology, double bytes) {
  return resolve_comm_model(kCommAuto, topology, bytes).cost(topology, bytes);
}

}  // namespace

extern const CommModel kCommAuto = {"auto", "the fastest all-reduce", cost_auto};

}  // namespace trainyard::predict
