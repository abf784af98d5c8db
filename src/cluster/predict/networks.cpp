#include "cluster/predict/networks.h"

#include "cluster/predict/paleo/from_graph.h"
#include "ops/passes/describe.h"

namespace trainyard::predict {

const Network& Networks::get(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  constexpr std::string_view kSuffix = ":ungrouped";
  const bool one_group = name.ends_with(kSuffix);
  Graph graph = source_(one_group ? name.substr(0, name.size() - kSuffix.size()) : name);
  passes::describe(graph);
  Network network{profile_graph(graph), {}, paleo::net_from_graph(graph)};
  if (one_group) {
    network.profile = ungrouped(std::move(network.profile));
    for (paleo::Layer& layer : network.paleo.layers) layer.conv.groups = 1;
  }
  network.merged = merged(network.profile);
  return known_.emplace(name, std::move(network)).first->second;
}

}  // namespace trainyard::predict
