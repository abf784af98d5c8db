// Observations, each kept once: a ring of them, as small as their encoding allows (ones and zeros
// as bits, cells as a number, pictures as bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rl/env/environment.h"

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

}  // namespace trainyard::rl
