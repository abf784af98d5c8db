// Networks from observations to a value per action.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "rl/agents/config.h"

namespace trainyard::rl {

// One input of `batch` observations, one output f32[batch, actions]. "auto" is a perceptron, or for
// pictures a small convolution in front (Young and Tian 2019). Throws Error if a network that is
// named does not take the observations or gives something else than a value per action.
Graph make_q_network(const RlConfig& config, const EnvSpec& spec, int64_t batch);

// "256,256"; throws Error.
std::vector<int64_t> parse_hidden(const std::string& text);

}  // namespace trainyard::rl
