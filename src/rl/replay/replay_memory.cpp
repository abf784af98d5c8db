#include "rl/replay/replay_memory.h"

#include "base/error.h"

namespace trainyard::rl {
namespace {

// Of one transition beside its frame: itself, and its place in a tree of priorities.
constexpr int64_t kOverhead = static_cast<int64_t>(sizeof(Transition)) + 16;

}  // namespace

int64_t transitions_in_bytes(const EnvSpec& spec, int64_t bytes) {
  return bytes / (FrameStore::frame_bytes(spec) + kOverhead);
}

// A frame per transition and one more per episode; an eighth is left for the latter.
ReplayMemory::ReplayMemory(const EnvSpec& spec, const ReplayOptions& options)
    : spec_(spec),
      frames_(spec, options.capacity + options.capacity / 8 + 2 * options.open_frames),
      margin_(options.open_frames),
      transitions_(static_cast<size_t>(options.capacity)),
      sampler_(make_sampler(options.sampler, options.capacity)) {}

int64_t ReplayMemory::bytes() const {
  return frames_.capacity() * frames_.bytes_per_frame() + capacity() * kOverhead;
}

void ReplayMemory::forget_oldest() {
  sampler_->remove(begin_ % capacity());
  ++begin_;
}

int64_t ReplayMemory::add_frame(std::span<const float> observation) {
  const int64_t number = frames_.add(observation);
  make_room_for_frames();
  return number;
}

int64_t ReplayMemory::add_encoded_frame(std::span<const std::byte> frame) {
  const int64_t number = frames_.add_encoded(frame);
  make_room_for_frames();
  return number;
}

void ReplayMemory::make_room_for_frames() {
  // Writers take turns, so that transitions refer to frames in nearly the order of their numbers.
  while (size() > 0 && transition(begin_).frame < frames_.begin() + margin_ &&
         frames_.begin() > 0) {
    forget_oldest();
  }
}

void ReplayMemory::add(const Transition& transition, double error) {
  TY_CHECK(transition.frame >= frames_.begin() && transition.next_frame < frames_.end(),
           "frames {} and {} of [{}, {})", transition.frame, transition.next_frame, frames_.begin(),
           frames_.end());
  if (size() == capacity()) forget_oldest();
  const int64_t slot = end_ % capacity();
  transitions_[static_cast<size_t>(slot)] = transition;
  ++end_;
  sampler_->add(slot, error);
}

void ReplayMemory::sample(double beta, EventStream& chance, ReplayBatch& batch,
                          std::span<float> observations, std::span<float> next_observations) {
  TY_REQUIRE(size() > 0, "the replay memory is empty");
  const size_t count = batch.slots.size();
  const auto width = static_cast<size_t>(spec_.observation_size());
  batch.weights.resize(count);
  batch.numbers.resize(count);
  batch.actions.resize(count);
  batch.rewards.resize(count);
  batch.discounts.resize(count);
  sampler_->sample(batch.slots, batch.weights, beta, chance);
  for (size_t i = 0; i < count; ++i) {
    const int64_t slot = batch.slots[i];
    const Transition& it = transitions_[static_cast<size_t>(slot)];
    batch.numbers[i] = begin_ + (slot - begin_ % capacity() + capacity()) % capacity();
    batch.actions[i] = it.action;
    batch.rewards[i] = it.reward;
    batch.discounts[i] = it.discount;
    frames_.read(it.frame, observations.subspan(i * width, width));
    frames_.read(it.next_frame, next_observations.subspan(i * width, width));
  }
}

void ReplayMemory::update(const ReplayBatch& batch, std::span<const float> errors) {
  for (size_t i = 0; i < batch.slots.size(); ++i) {
    if (batch.numbers[i] >= begin_) sampler_->update({&batch.slots[i], 1}, {&errors[i], 1});
  }
}

// Learners use frames and actions as places in arrays.
void ReplayMemory::require_usable(const Transition& it) const {
  const auto held = [&](int64_t frame) {
    return frame >= frames_.begin() && frame < frames_.end();
  };
  TY_REQUIRE(held(it.frame) && held(it.next_frame),
             "transition {} has the frames {} and {}, expected frames from {} to {}", end_,
             it.frame, it.next_frame, frames_.begin(), frames_.end() - 1);
  TY_REQUIRE(it.action >= 0 && it.action < spec_.actions,
             "transition {} has action {}, expected 0 to {}", end_, it.action, spec_.actions - 1);
}

void ReplayMemory::restore(int64_t first_frame, std::span<const std::byte> frames, int64_t begin,
                           std::span<const Transition> transitions,
                           std::span<const double> priorities) {
  frames_.restart_at(first_frame);
  const auto width = static_cast<size_t>(frames_.bytes_per_frame());
  for (size_t at = 0; at < frames.size(); at += width) {
    frames_.add_encoded(frames.subspan(at, width));
  }
  begin_ = begin;
  end_ = begin;
  TY_REQUIRE(transitions.size() <= transitions_.size(), "{} transitions, expected at most {}",
             transitions.size(), transitions_.size());
  for (const Transition& it : transitions) {
    require_usable(it);
    transitions_[static_cast<size_t>(end_ % capacity())] = it;
    ++end_;
  }
  sampler_->set_priorities(priorities, size());
}

}  // namespace trainyard::rl
