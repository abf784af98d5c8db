// One episode of a policy, to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"
#include "rl/agents/evaluation.h"

namespace trainyard::rl {

struct PlayedStep {
  std::vector<float> observation;  // before the step
  std::vector<float> values;       // of the actions
  int32_t action = 0;
  double reward = 0;
  double total = 0;  // rewards so far, this one included
};

struct PlayedEpisode {
  std::vector<PlayedStep> steps;
  bool terminated = false;
  bool truncated = false;
};

struct PlayOptions {
  uint64_t seed = 1;
  double epsilon = 0;
  int64_t longest = 2000;  // steps
};
PlayedEpisode play_episode(const std::string& environment, const MakePolicy& make_policy,
                           const PlayOptions& options);

// The environment, and beside it a bar per action: its value among those of the episode, the chosen
// one marked. Environments that cannot be drawn show their observation as bars.
std::vector<data::Image> draw_episode(const std::string& environment, const PlayedEpisode& episode);

// `count` of the pictures, evenly chosen, in rows.
data::Image contact_sheet(std::span<const data::Image> pictures, int64_t count);

}  // namespace trainyard::rl
