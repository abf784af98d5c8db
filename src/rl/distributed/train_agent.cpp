#include "rl/distributed/train_agent.h"

#include "base/error.h"

namespace trainyard::rl {

RunResult train_agent(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks, Actors actors) {
  if (config.is_tabular()) return train_table(config, directory, hooks);
  if (config.agent == "gorila") return train_gorila_in_threads(config, directory, hooks);
  if (config.actors > 0) return train_apex_here(config, directory, hooks, actors);
  return train_dqn(config, directory, hooks);
}

RunResult train_agent_rank(dist::Communicator& comm, const RlConfig& config,
                           const runs::RunDirectory* directory, const RunHooks& hooks) {
  TY_REQUIRE(comm.size() == config.ranks(),
             "agent {} with these settings needs {} ranks; the launcher started {}", config.agent,
             config.ranks(), comm.size());
  if (config.agent == "gorila") return train_gorila(comm, config, directory, hooks);
  if (config.actors > 0) return train_apex(comm, config, directory, hooks, Actors::kProcesses);
  return config.is_tabular() ? train_table(config, directory, hooks)
                             : train_dqn(config, directory, hooks);
}

}  // namespace trainyard::rl
