// Training, whichever the agent is and however many ranks it has.
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

// Without a launcher: learners are threads of this process, and actors as told.
RunResult train_agent(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks, Actors actors = Actors::kThreads);

// One rank's part of a job of config.ranks() ranks; the answer is complete on rank 0.
RunResult train_agent_rank(dist::Communicator& comm, const RlConfig& config,
                           const runs::RunDirectory* directory, const RunHooks& hooks);

}  // namespace trainyard::rl
