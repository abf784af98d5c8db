// How long networks and their layers take, in float and in int8.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "quant/plan.h"
#include "quant/scheme.h"

namespace trainyard::quant {

struct NetworkTime {
  double median_s = 0;
  std::map<std::string, double> layer_s;  // by the name of the node
};

// Runs the networks in turns, as often as fits about `seconds` in all, at least five times.
std::vector<NetworkTime> time_networks(std::span<const Graph> graphs, int threads, double seconds);

struct LayerTime {
  double float_s = 0;
  double int8_s = 0;
  // In float with its input and result in steps, as it runs between int8 layers.
  double between_s = 0;
};

// Each layer of the plan alone with a batch of one, its input and result in floats or in steps,
// before anything is quantized: the prediction of what int8 brings. The forms run in turns for
// about `seconds` in all, and the shortest of each counts. Layers alike are timed once.
std::map<NodeId, LayerTime> time_layers(const Graph& graph, const Plan& plan,
                                        const WeightScheme& scheme, int threads, double seconds);

}  // namespace trainyard::quant
