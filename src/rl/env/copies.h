// Makes an Environment of a game, which is a plain struct:
//
//   struct Game {
//     explicit Game(const EnvOptions& options);
//     EnvSpec spec() const;
//     void reset(EventStream& chance);
//     // The reward and whether the episode terminated; truncation is ours.
//     Outcome step(int32_t action, EventStream& chance);
//     void observe(float* to) const;  // every element
//     Json state() const;
//     void set_state(const Json& state);
//   };
#pragma once

#include <vector>

#include "base/error.h"
#include "rl/env/environment.h"

namespace trainyard::rl {

template <typename Game>
class Copies final : public Environment {
 public:
  Copies(const EnvOptions& options, int64_t copies)
      : Environment(spec_of(options), copies),
        size_(static_cast<size_t>(spec().observation_size())),
        games_(static_cast<size_t>(copies), Game(options)),
        chances_(games_.size()),
        steps_(games_.size(), 0) {}

  void reset(uint64_t seed, std::span<float> observations) override {
    for (size_t i = 0; i < games_.size(); ++i) {
      chances_[i] = EventStream(seed, hash_text("copy") + i);
      games_[i].reset(chances_[i]);
      steps_[i] = 0;
      games_[i].observe(observations.data() + i * size_);
    }
  }

  void step(std::span<const int32_t> actions, std::span<float> observations,
            std::span<Outcome> outcomes) override {
    const int64_t limit = spec().time_limit;
    for (size_t i = 0; i < games_.size(); ++i) {
      outcomes[i] = games_[i].step(actions[i], chances_[i]);
      outcomes[i].truncated = ++steps_[i] >= limit && limit > 0;
      games_[i].observe(observations.data() + i * size_);
    }
  }

  void begin_episode(int64_t copy, std::span<float> observation) override {
    const auto i = static_cast<size_t>(copy);
    games_[i].reset(chances_[i]);
    steps_[i] = 0;
    games_[i].observe(observation.data());
  }

  Json state(int64_t copy) const override { return games_.at(static_cast<size_t>(copy)).state(); }
  void set_state(int64_t copy, const Json& state, int64_t steps) override {
    games_.at(static_cast<size_t>(copy)).set_state(state);
    steps_.at(static_cast<size_t>(copy)) = steps;
  }
  int64_t episode_steps(int64_t copy) const override {
    return steps_.at(static_cast<size_t>(copy));
  }
  void observe(int64_t copy, std::span<float> observation) const override {
    games_.at(static_cast<size_t>(copy)).observe(observation.data());
  }
  EventStream& chance(int64_t copy) override { return chances_.at(static_cast<size_t>(copy)); }

 private:
  static EnvSpec spec_of(const EnvOptions& options) {
    EnvSpec spec = Game(options).spec();
    spec.time_limit = options.time_limit.value_or(spec.time_limit);
    return spec;
  }

  size_t size_;
  std::vector<Game> games_;
  std::vector<EventStream> chances_;
  std::vector<int64_t> steps_;
};

template <typename Game>
std::unique_ptr<Environment> make_copies(const EnvOptions& options, int64_t copies) {
  return std::make_unique<Copies<Game>>(options, copies);
}

}  // namespace trainyard::rl
