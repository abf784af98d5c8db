// Training, whichever the agent is and however many ranks it has.
#pragma once

#include "dist/communicator.h"
#include "rl/agents/run.h"

namespace trainyard::rl {

// In this process: actors and learners are threads of it.
RunResult train_agent(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks);

// One rank's part of a job of config.ranks() ranks; the answer is complete on rank 0.
RunResult train_agent_rank(dist::Communicator& comm, const RlConfig& config,
                           const runs::RunDirectory* directory, const RunHooks& hooks);

}  // namespace trainyard::rl
