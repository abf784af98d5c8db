// What an agent has lived through: transitions, oldest first out, over frames that are kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rl/env/environment.h"
#include "rl/replay/n_step.h"
#include "rl/replay/sampler.h"

namespace trainyard::rl {

// Frames are numbered from 0 in the order they came; the last `capacity` of them are there.
class FrameStore {
 public:
  FrameStore(const EnvSpec& spec, int64_t capacity);

  static int64_t frame_bytes(const EnvSpec& spec);
  int64_t capacity() const { return capacity_; }
  int64_t bytes_per_frame() const { return frame_bytes_; }

  // Its number.
  int64_t add(std::span<const float> observation);
  void read(int64_t number, std::span<float> to) const;

  // Numbers of the oldest frame and of the next one to come.
  int64_t begin() const { return std::max<int64_t>(0, next_ - capacity_); }
  int64_t end() const { return next_; }

  // As they are kept. To write one: numbers go on from `begin` of a restored store.
  std::span<const std::byte> encoded(int64_t number) const;
  int64_t add_encoded(std::span<const std::byte> frame);
  void restart_at(int64_t number) { next_ = number; }

 private:
  std::byte* place(int64_t number) {
    return bytes_.data() + static_cast<size_t>(number % capacity_ * frame_bytes_);
  }

  Encoding encoding_;
  int64_t elements_;
  int64_t frame_bytes_;
  int64_t capacity_;
  int64_t next_ = 0;
  std::vector<std::byte> bytes_;
};

struct ReplayOptions {
  int64_t capacity = 100000;  // transitions
  // Frames between the two of a transition and around ends of episodes, of all writers together.
  int64_t open_frames = 1024;
  SamplerOptions sampler = {};
};

// As many transitions as fit into so many bytes, frames and priorities included.
int64_t transitions_in_bytes(const EnvSpec& spec, int64_t bytes);

// Learners' numbers of a batch; reused from batch to batch.
struct ReplayBatch {
  std::vector<int64_t> slots;
  std::vector<int64_t> numbers;  // of the transitions, to see later whether a slot still has them
  std::vector<float> weights;
  std::vector<int64_t> actions;
  std::vector<float> rewards;
  std::vector<float> discounts;
};

// Not thread-safe. Transition number k is in slot k % capacity. A transition goes when its slot is
// needed, or earlier when its frames are: after very short episodes, which have more frames.
class ReplayMemory {
 public:
  ReplayMemory(const EnvSpec& spec, const ReplayOptions& options);

  const EnvSpec& spec() const { return spec_; }
  int64_t capacity() const { return static_cast<int64_t>(transitions_.size()); }
  int64_t size() const { return end_ - begin_; }
  int64_t bytes() const;

  int64_t add_frame(std::span<const float> observation);
  // As a FrameStore of the same environment keeps it.
  int64_t add_encoded_frame(std::span<const std::byte> frame);
  // `error`: as Sampler::add.
  void add(const Transition& transition, double error = -1);

  // Fills `batch` and the rows of both observations. Throws Error if nothing is there.
  void sample(double beta, EventStream& chance, ReplayBatch& batch, std::span<float> observations,
              std::span<float> next_observations);
  // Of a batch that was sampled: those whose slot has been given away since are left alone.
  void update(const ReplayBatch& batch, std::span<const float> errors);

  // Numbers of transitions: the oldest that is there, and how many ever came.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  const Transition& transition(int64_t number) const {
    return transitions_[static_cast<size_t>(number % capacity())];
  }
  const FrameStore& frames() const { return frames_; }
  const Sampler& sampler() const { return *sampler_; }

  // From a file: frames from `first_frame` on, transitions [begin, begin + size), priorities.
  // Throws Error if they do not belong together; the memory is then of no use.
  void restore(int64_t first_frame, std::span<const std::byte> frames, int64_t begin,
               std::span<const Transition> transitions, std::span<const double> priorities);

 private:
  void forget_oldest();
  void make_room_for_frames();
  // Throws Error for a transition from a file whose frames or action are not there.
  void require_usable(const Transition& it) const;

  EnvSpec spec_;
  FrameStore frames_;
  int64_t margin_;
  std::vector<Transition> transitions_;
  std::unique_ptr<Sampler> sampler_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace trainyard::rl
