// An actor apart from the learner: it acts with a copy of the network, computes the first
// priorities of its transitions itself and sends them in parcels (Horgan et al.: Distributed
// Prioritized Experience Replay, ICLR 2018).
#pragma once

#include "dist/communicator.h"
#include "rl/agents/config.h"

namespace trainyard::rl {

// Rank of the learner; actors follow.
inline constexpr int64_t kLearnerRank = 0;

// Until the learner says stop. An environment that fails is begun again, and the learner is told
// why; after `kMostProblems` of them in a row the last is thrown. `first_life`: how many actors of
// this rank there were before, which decides its luck.
inline constexpr int64_t kMostProblems = 5;
void run_actor(dist::Communicator& comm, const RlConfig& config, uint64_t first_life = 0);

}  // namespace trainyard::rl
