// The checkpoints of a run of one process: network, target network, replay memory, environments and
// counters, so that a resumed run goes on bit by bit.
#pragma once

#include <optional>

#include "rl/agents/actor.h"
#include "rl/agents/learner.h"
#include "rl/agents/progress.h"
#include "rl/replay/replay_folder.h"
#include "runs/checkpoint.h"

namespace trainyard::rl {

// All that goes on; referred to.
struct RunState {
  Learner& learner;
  ReplayMemory& memory;
  Actor* actor;  // null: others act
  EventStream& sampling;
  RunProgress& progress;
};

class SavedRun {
 public:
  // Creates the folder, a run's checkpoints or one in there.
  SavedRun(std::filesystem::path folder, const RlConfig& config);

  // The step of the last checkpoint; 0: there is none.
  int64_t last_step() const;
  void save(const RunState& state, int64_t step);
  // From the last checkpoint. Throws Error if it does not fit the settings.
  void restore(const RunState& state);

 private:
  std::filesystem::path state_file(int64_t step) const;

  std::filesystem::path folder_;
  std::string hash_;
  uint64_t seed_;
  runs::CheckpointFolder checkpoints_;
  ReplayFolder replay_;
};

}  // namespace trainyard::rl
