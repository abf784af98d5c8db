// Ape-X (Horgan et al. 2018): many actors, one learner, one prioritized replay memory.
#pragma once

#include "dist/communicator.h"
#include "rl/agents/run.h"

namespace trainyard::rl {

// What an actor is: a thread of its rank, or a process that its rank watches and replaces.
enum class Actors : uint8_t { kThreads, kProcesses };

// One rank's part of a job of 1 + actors ranks: rank 0 learns, the others act. The answer is
// complete on rank 0, which alone uses `directory` and `hooks`. Samples learned from per transition
// stay within a parcel per actor of config.replay_ratio: the learner waits for transitions, and
// actors for the learner. The learner goes on from the last checkpoint of the directory; actors
// begin new episodes. Throws Failure naming a rank that has ended; what the last checkpoint has is
// then kept.
RunResult train_apex(dist::Communicator& comm, const RlConfig& config,
                     const runs::RunDirectory* directory, const RunHooks& hooks, Actors actors);

// The same on this host, without a launcher.
RunResult train_apex_here(const RlConfig& config, const runs::RunDirectory* directory,
                          const RunHooks& hooks, Actors actors);

}  // namespace trainyard::rl
