// What agents act in: a number of copies of one game that are stepped together.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "rl/env/event_stream.h"
#include "tensor/shape.h"

namespace trainyard::rl {

// What the numbers of an observation are, which decides how a replay memory keeps them.
enum class Encoding : uint8_t {
  kReal,   // any numbers
  kBits,   // 0 or 1
  kBytes,  // 0 … 255, as whole numbers
  kCell,   // a one-hot row: the number of a cell
};

struct EnvSpec {
  std::string name;
  Shape shape;  // of one observation
  int64_t actions = 0;
  Encoding encoding = Encoding::kReal;
  int64_t time_limit = 0;  // steps of an episode; 0: none
  // Nothing ever ends an episode, so that policies are judged by their reward of a step.
  bool continuing = false;
  // How far the numbers of an observation reach, where that differs much: networks divide by it.
  std::vector<float> reach = {};

  int64_t observation_size() const { return shape.num_elements(); }
};

// What one step did to one copy. A time limit truncates and does not terminate; both may be true.
struct Outcome {
  float reward = 0;
  bool terminated = false;
  bool truncated = false;

  bool ended() const { return terminated || truncated; }
};

// Settings of a game, given behind its name: "breakout,sticky=0,ramping=no".
struct EnvOptions {
  std::optional<int64_t> time_limit;  // 0: none
  std::optional<bool> slippery;       // CliffWalking, FrozenLake
  std::string map;                    // FrozenLake: 4x4 or 8x8; empty: as the name says
  double sticky = 0.1;                // MinAtar, Atari: how often the last action is repeated
  bool ramping = true;                // MinAtar: games get harder
  bool minimal = false;               // MinAtar: only the actions that do something
};

// Not thread-safe. The same seed and actions give the same episodes, however many copies there are:
// copy i of seed s is the same game always.
class Environment {
 public:
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const EnvSpec& spec() const { return spec_; }
  int64_t copies() const { return copies_; }

  // New episodes in all copies. Observations are rows, one per copy, here and below.
  virtual void reset(uint64_t seed, std::span<float> observations) = 0;
  // One action per copy. `observations` are those that the steps lead to: the last one of an
  // episode too. A copy whose episode ended must begin another before the next step.
  virtual void step(std::span<const int32_t> actions, std::span<float> observations,
                    std::span<Outcome> outcomes) = 0;
  // A new episode in one copy, whose luck goes on from where it is.
  virtual void begin_episode(int64_t copy, std::span<float> observation) = 0;

  // Everything that decides how one copy goes on, but for the luck to come.
  virtual Json state(int64_t copy) const = 0;
  // `steps`: how many of its episode are done. Throws Error for a state of another game.
  virtual void set_state(int64_t copy, const Json& state, int64_t steps) = 0;
  virtual int64_t episode_steps(int64_t copy) const = 0;
  virtual void observe(int64_t copy, std::span<float> observation) const = 0;
  virtual EventStream& chance(int64_t copy) = 0;

 protected:
  Environment(EnvSpec spec, int64_t copies) : spec_(std::move(spec)), copies_(copies) {}

 private:
  EnvSpec spec_;
  int64_t copies_;
};

// An environment could not go on, for reasons of its own: a new one may.
class EnvironmentFailure : public Failure {
 public:
  using Failure::Failure;
};

class Canvas;

inline constexpr double kNoThreshold = std::numeric_limits<double>::quiet_NaN();

// A game that is built in; environment_list.def names them all.
struct EnvironmentDef {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  // The mean return from which it counts as solved; NaN: none is agreed.
  double threshold;
  std::unique_ptr<Environment> (*make)(const EnvOptions& options, int64_t copies);
  // One observation as a picture.
  void (*draw)(Canvas& canvas, std::span<const float> observation);
};

std::span<const EnvironmentDef* const> all_environments();
// Case, punctuation, "MinAtar" in front and the version may be left out. Throws Error with the
// nearest names.
const EnvironmentDef& find_environment(std::string_view name);

// "breakout,sticky=0" taken apart. Throws Error for unknown keys and values.
struct EnvName {
  std::string game;  // what stands before the first comma, or the whole command of a child process
  EnvOptions options;
};
EnvName parse_environment(std::string_view text);
// What "exec:COMMAND" starts; nothing for other environments.
std::optional<std::string_view> command_of(std::string_view environment);
// By name and options, an Atari game: "ale:ROM", or a child process: "exec:COMMAND".
std::unique_ptr<Environment> make_environment(std::string_view text, int64_t copies);

}  // namespace trainyard::rl
