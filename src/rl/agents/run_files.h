// What kinds of runs share: parts made from settings, and the files of a finished run.
#pragma once

#include "rl/agents/actor.h"
#include "rl/agents/learner.h"
#include "rl/agents/run.h"
#include "rl/replay/replay_memory.h"

namespace trainyard::rl {

ActorOptions actor_options(const RlConfig& config);
// Throws Error if a batch does not fit.
ReplayOptions replay_options(const RlConfig& config, const EnvSpec& spec);

// Throws Error unless the agent can learn in such an environment: a table wants states that can be
// counted, a network has to take the observations, and a batch has to fit into the memory.
void require_learnable(const RlConfig& config, const EnvSpec& spec);

// Empty unless the memory samples by priority.
std::vector<PriorityBin> priority_histogram(const RlConfig& config, const ReplayMemory& memory);

// As config.eval_* say, with the weights of now.
Evaluation evaluate_learner(const Learner& learner);

// model.onnx and model.safetensors.
void write_policy(const runs::RunDirectory& directory, const Learner& learner);

inline constexpr const char* kTableFile = "table.json";

}  // namespace trainyard::rl
