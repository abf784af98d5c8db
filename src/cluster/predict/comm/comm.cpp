#include "cluster/predict/comm/comm.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {

extern const CommModel kCommAuto;
extern const CommModel kCommButterfly;
extern const CommModel kCommCentral;
extern const CommModel kCommHierarchical;
extern const CommModel kCommParameterServer;
extern const CommModel kCommReduceBroadcast;
extern const CommModel kCommRing;
extern const CommModel kCommTree;

namespace {

// `auto` comes last: it looks at the others.
constexpr const CommModel* kModels[] = {
    &kCommCentral,      &kCommReduceBroadcast, &kCommTree, &kCommButterfly, &kCommRing,
    &kCommHierarchical, &kCommParameterServer, &kCommAuto,
};

}  // namespace

double algorithm_bandwidth(double message_bytes, const CommCost& cost) {
  return cost.seconds > 0 ? message_bytes / cost.seconds : 0;
}

double bus_bandwidth(double message_bytes, int64_t workers, const CommCost& cost) {
  return algorithm_bandwidth(message_bytes, cost) * dist::ring_plan(workers).share;
}

double utilization(double message_bytes, const Topology& topology, const CommCost& cost) {
  if (cost.seconds <= 0) return 0;
  // Every host has to send and receive this share of the message, and so has every device in it.
  const double near = dist::ring_plan(topology.local()).share / topology.inside.bytes_per_s;
  const double far = dist::ring_plan(topology.hosts()).share / topology.between.bytes_per_s;
  return message_bytes * std::max(near, far) / cost.seconds;
}

std::span<const CommModel* const> all_comm_models() {
  return kModels;
}

const CommModel& find_comm_model(std::string_view name) {
  std::vector<std::string> names;
  for (const CommModel* model : kModels) {
    if (model->name == name) return *model;
    names.emplace_back(model->name);
  }
  throw_error("communication '{}' is not known.{} There are: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

const CommModel& resolve_comm_model(const CommModel& model, const Topology& topology,
                                    double message_bytes) {
  if (&model != &kCommAuto) return model;
  const CommModel* best = nullptr;
  double least = 0;
  for (const CommModel* candidate : kModels) {
    if (candidate == &kCommAuto || candidate == &kCommParameterServer) continue;
    const double seconds = candidate->cost(topology, message_bytes).seconds;
    if (best == nullptr || seconds < least) {
      best = candidate;
      least = seconds;
    }
  }
  return *best;
}

CommCost over_link(const LinkSpeed& link, int64_t steps, double bytes) {
  return {static_cast<double>(steps) * link.latency_s + bytes / link.bytes_per_s, steps, bytes};
}

}  // namespace trainyard::predict
