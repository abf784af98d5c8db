// The acting half of an agent: copies of an environment, and actions that are the best or random.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rl/env/environment.h"
#include "rl/replay/n_step.h"
#include "rl/replay/replay_memory.h"

namespace trainyard::rl {

// Fills a row of values per row of observations.
using Policy = std::function<void(std::span<const float> observations, std::span<float> values)>;

struct Episode {
  double reward = 0;  // sum, as the environment gave it
  int64_t steps = 0;
  bool truncated = false;
};

struct ActorOptions {
  int64_t n_step = 1;
  double gamma = 0.99;
  bool clip_rewards = false;
  uint64_t seed = 1;
};

// Not thread-safe.
class Actor {
 public:
  Actor(std::unique_ptr<Environment> environment, const ActorOptions& options);

  // Where frames and transitions go.
  using AddFrame = std::function<int64_t(std::span<const float>)>;
  using AddTransition = std::function<void(const Transition&)>;
  void begin(const AddFrame& add_frame);
  // One step of every copy. Values are asked for only if some copy does not act at random.
  void step(double epsilon, const Policy& policy, const AddFrame& add_frame,
            const AddTransition& add);

  Environment& environment() { return *environment_; }
  const EnvSpec& spec() const { return environment_->spec(); }
  int64_t copies() const { return environment_->copies(); }
  int64_t steps() const { return steps_; }  // of all copies together
  // Those that ended since the last call.
  std::vector<Episode> take_episodes();
  // Values of the last step whose actions were chosen by them; one row per copy.
  std::span<const float> values() const { return values_; }
  std::span<const float> observations() const { return observations_; }

  // All that decides how it goes on, but for the weights of the policy.
  Json state();
  // Throws Error if it is that of another actor or refers to what the memory, where its frames and
  // transitions go, does not have. New episodes begin where an environment cannot be put back (a
  // child process).
  void set_state(const Json& state, ReplayMemory& memory);

 private:
  void choose(double epsilon, const Policy& policy);
  static int64_t read_frame(const Json& number, const FrameStore& frames);
  std::deque<NStep::Open> read_open(const Json& steps, const FrameStore& frames) const;
  void end_episode(size_t copy, bool truncated, const AddFrame& add_frame);

  std::unique_ptr<Environment> environment_;
  ActorOptions options_;
  EventStream explore_;
  size_t width_;
  std::vector<float> observations_;
  std::vector<float> values_;
  std::vector<int32_t> actions_;
  std::vector<Outcome> outcomes_;
  std::vector<int64_t> frames_;  // of the present observations
  std::vector<NStep> n_steps_;
  std::vector<Episode> running_;
  std::vector<Episode> ended_;
  int64_t steps_ = 0;
};

}  // namespace trainyard::rl
