// Training, whichever the agent is and however many ranks it has.
#pragma once

#include "dist/communicator.h"
#include "rl/agents/run.h"
#include "rl/distributed/apex.h"

namespace trainyard::rl {

// Without a launcher: learners are threads of this process, and actors as told.
RunResult train_agent(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks, Actors actors = Actors::kThreads);

// One rank's part of a job of config.ranks() ranks; the answer is complete on rank 0.
RunResult train_agent_rank(dist::Communicator& comm, const RlConfig& config,
                           const runs::RunDirectory* directory, const RunHooks& hooks);

}  // namespace trainyard::rl
