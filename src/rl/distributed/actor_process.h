// Actors in processes of their own, each under a rank that starts another one when it dies.
#pragma once

#include "dist/communicator.h"
#include "rl/agents/config.h"

namespace trainyard::rl {

// This rank's actor as a process `trainyard rl actor`: passes on what it and the learner say until
// the learner says stop. A process that a signal ended, or that is silent for longer than the
// communicator's limit, is replaced and the learner is told why. Throws Failure if it gives up
// itself, or after kMostProblems of them in a row that sent no transitions.
void supervise_actor(dist::Communicator& comm, const RlConfig& config);

// That process: its settings come from stdin, messages go to stdout. Returns when the learner says
// stop or is gone.
void run_actor_process();

}  // namespace trainyard::rl
