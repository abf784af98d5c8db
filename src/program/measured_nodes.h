// How long each node of a network takes on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace trainyard::cli {

struct MeasuredNodes {
  std::map<std::string, double> seconds;  // of one run, by the names of nodes
  double elsewhere_s = 0;                 // steps that are of no node of the network
  int64_t runs = 0;
};

// Runs the network, in use, for about a second: made-up inputs, all cores. What was fused into
// another node takes no time of its own.
MeasuredNodes measure_nodes(const Graph& network);

}  // namespace trainyard::cli
