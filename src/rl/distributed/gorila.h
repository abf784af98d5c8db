// GORILA (Nair et al.: Massively Parallel Methods for Deep Reinforcement Learning, 2015): bundles
// of an actor, a replay memory and a learner, whose gradients parameter servers apply as they come.
#pragma once

#include "dist/communicator.h"
#include "rl/agents/run.h"

namespace trainyard::rl {

// One rank's part of a job of config.learners + config.servers ranks; the bundles come first. The
// answer is complete on rank 0, which alone uses `hooks`. Each bundle pulls parameters before each
// update and acts with them; its target network follows every
// config.target_every updates of the servers. What the servers hold and each bundle's replay memory
// and environments are saved every config.checkpoint_every steps (0: five times), a bundle's on its
// own host, and a run resumes from there; a bundle without a checkpoint begins anew.
RunResult train_gorila(dist::Communicator& comm, const RlConfig& config,
                       const runs::RunDirectory* directory, const RunHooks& hooks);

// The same with threads of this process as ranks.
RunResult train_gorila_in_threads(const RlConfig& config, const runs::RunDirectory* directory,
                                  const RunHooks& hooks);

}  // namespace trainyard::rl
