#include "rl/agents/actor.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "rl/agents/q_objective.h"

namespace trainyard::rl {

Actor::Actor(std::unique_ptr<Environment> environment, const ActorOptions& options)
    : environment_(std::move(environment)),
      options_(options),
      explore_(options.seed, hash_text("explore")),
      width_(static_cast<size_t>(spec().observation_size())) {
  const auto count = static_cast<size_t>(copies());
  observations_.resize(count * width_);
  values_.resize(count * static_cast<size_t>(spec().actions));
  actions_.resize(count);
  outcomes_.resize(count);
  frames_.resize(count);
  running_.resize(count);
  n_steps_.assign(count, NStep(options.n_step, options.gamma));
}

void Actor::begin(const AddFrame& add_frame) {
  environment_->reset(options_.seed, observations_);
  for (size_t i = 0; i < frames_.size(); ++i) {
    frames_[i] = add_frame(std::span(observations_).subspan(i * width_, width_));
  }
}

void Actor::choose(double epsilon, const Policy& policy) {
  bool asked = false;
  const auto actions = static_cast<size_t>(spec().actions);
  for (size_t i = 0; i < actions_.size(); ++i) {
    if (explore_.uniform() < epsilon) {
      actions_[i] = static_cast<int32_t>(explore_.between(0, spec().actions));
      continue;
    }
    // One forward pass for all copies, and none in a step in which every copy explores.
    if (!asked) policy(observations_, values_);
    asked = true;
    const std::span<const float> row = std::span(values_).subspan(i * actions, actions);
    actions_[i] = best_action(row);
    // The largest of values with NaN among them depends on where it stands, so the first value is
    // looked at as well.
    if (!std::isfinite(row[static_cast<size_t>(actions_[i])]) || !std::isfinite(row[0])) {
      throw_diverged(fmt::format("step {}: the value of an action", steps_),
                     static_cast<double>(row[static_cast<size_t>(actions_[i])]));
    }
  }
}

void Actor::step(double epsilon, const Policy& policy, const AddFrame& add_frame,
                 const AddTransition& add) {
  choose(epsilon, policy);
  environment_->step(actions_, observations_, outcomes_);
  for (size_t i = 0; i < actions_.size(); ++i) {
    running_[i].reward += static_cast<double>(outcomes_[i].reward);
    ++running_[i].steps;
    Outcome seen = outcomes_[i];
    // Clipped rewards are for learning alone; returns that are reported stay those of the
    // environment.
    if (options_.clip_rewards)
      seen.reward = static_cast<float>((seen.reward > 0) - (seen.reward < 0));
    const int64_t next = add_frame(std::span(observations_).subspan(i * width_, width_));
    n_steps_[i].add(frames_[i], actions_[i], next, seen, add);
    frames_[i] = next;
    // After the transition was stored: its next frame is the last of this episode, not the first of
    // the next.
    if (seen.ended()) end_episode(i, seen.truncated && !seen.terminated, add_frame);
  }
  steps_ += copies();
}

void Actor::end_episode(size_t copy, bool truncated, const AddFrame& add_frame) {
  running_[copy].truncated = truncated;
  ended_.push_back(running_[copy]);
  running_[copy] = {};
  const std::span<float> row = std::span(observations_).subspan(copy * width_, width_);
  environment_->begin_episode(static_cast<int64_t>(copy), row);
  frames_[copy] = add_frame(row);
}

std::vector<Episode> Actor::take_episodes() {
  return std::exchange(ended_, {});
}

Json Actor::state() {
  Json all = Json::object({{"steps", steps_},
                           {"explored", static_cast<int64_t>(explore_.drawn())},
                           {"copies", Json::array()}});
  for (size_t i = 0; i < frames_.size(); ++i) {
    const auto copy = static_cast<int64_t>(i);
    Json open = Json::array();
    for (const NStep::Open& step : n_steps_[i].open()) {
      open.push_back(Json(Json::Array{step.frame, step.action, static_cast<double>(step.reward)}));
    }
    all["copies"].push_back(
        Json::object({{"state", environment_->state(copy)},
                      {"episode_steps", environment_->episode_steps(copy)},
                      {"drawn", static_cast<int64_t>(environment_->chance(copy).drawn())},
                      {"frame", frames_[i]},
                      {"reward", running_[i].reward},
                      {"steps", running_[i].steps},
                      {"open", std::move(open)}}));
  }
  return all;
}

// Of a state from a file; transitions to come refer to it.
int64_t Actor::read_frame(const Json& number, const FrameStore& frames) {
  const int64_t frame = number.as_int();
  TY_REQUIRE(frame >= frames.begin() && frame < frames.end(), "frame {}, expected {} to {}", frame,
             frames.begin(), frames.end() - 1);
  return frame;
}

std::deque<NStep::Open> Actor::read_open(const Json& steps, const FrameStore& frames) const {
  TY_REQUIRE(static_cast<int64_t>(steps.items().size()) < options_.n_step,
             "{} open steps, expected less than {}", steps.items().size(), options_.n_step);
  std::deque<NStep::Open> open;
  for (const Json& step : steps.items()) {
    const Json::Array& parts = step.items();
    TY_REQUIRE(parts.size() == 3, "an open step is a frame, an action and a reward, found {}",
               step.dump(-1));
    const int64_t action = parts[1].as_int();
    TY_REQUIRE(action >= 0 && action < spec().actions, "action {}, expected 0 to {}", action,
               spec().actions - 1);
    open.push_back({read_frame(parts[0], frames), static_cast<int32_t>(action),
                    static_cast<float>(parts[2].as_number())});
  }
  return open;
}

// What is drawn at random is restored as a count of draws (EventStream counts instead of carrying
// state), so a resumed run draws what the uninterrupted one would have drawn.
void Actor::set_state(const Json& state, ReplayMemory& memory) {
  const Json::Array& all = state.at("copies").items();
  TY_REQUIRE(all.size() == frames_.size(), "the run has {} copies of {}, expected {}", all.size(),
             spec().name, frames_.size());
  environment_->reset(options_.seed, observations_);
  steps_ = state.at("steps").as_int();
  explore_.set_drawn(static_cast<uint64_t>(state.at("explored").as_int()));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto copy = static_cast<int64_t>(i);
    const std::span<float> row = std::span(observations_).subspan(i * width_, width_);
    environment_->chance(copy).set_drawn(static_cast<uint64_t>(all[i].at("drawn").as_int()));
    // Environments of others (a child process, Atari) cannot be put back into a state; such a copy
    // begins an episode.
    if (all[i].at("state").is_null()) {
      environment_->begin_episode(copy, row);
      frames_[i] = memory.add_frame(row);
      continue;
    }
    environment_->set_state(copy, all[i].at("state"), all[i].at("episode_steps").as_int());
    environment_->observe(copy, row);
    frames_[i] = read_frame(all[i].at("frame"), memory.frames());
    running_[i] = {all[i].at("reward").as_number(), all[i].at("steps").as_int(), false};
    n_steps_[i].set_open(read_open(all[i].at("open"), memory.frames()));
  }
}

}  // namespace trainyard::rl
