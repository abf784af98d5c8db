#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "rl/replay/replay_memory.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kPerByte = 8;

// Observations of zeros and ones alone: MinAtar's boards.
void pack_bits(std::span<const float> from, std::byte* to) {
  for (size_t i = 0; i < from.size(); i += kPerByte) {
    unsigned bits = 0;
    const size_t here = std::min<size_t>(kPerByte, from.size() - i);
    for (size_t k = 0; k < here; ++k) bits |= (from[i + k] != 0 ? 1U : 0U) << k;
    to[i / kPerByte] = static_cast<std::byte>(bits);
  }
}

// The eight floats of every byte.
// A table instead of shifts: reading batches is what a learner does most.
const std::array<std::array<float, kPerByte>, 256>& unpacked_bytes() {
  static const auto kTable = [] {
    std::array<std::array<float, kPerByte>, 256> made{};
    for (size_t byte = 0; byte < made.size(); ++byte) {
      for (size_t k = 0; k < kPerByte; ++k) made[byte][k] = (byte >> k & 1) != 0 ? 1.0F : 0.0F;
    }
    return made;
  }();
  return kTable;
}

void unpack_bits(const std::byte* from, std::span<float> to) {
  const auto& table = unpacked_bytes();
  size_t i = 0;
  for (; i + kPerByte <= to.size(); i += kPerByte) {
    std::memcpy(to.data() + i, table[static_cast<size_t>(from[i / kPerByte])].data(),
                sizeof(table[0]));
  }
  if (i == to.size()) return;
  std::copy_n(table[static_cast<size_t>(from[i / kPerByte])].begin(), to.size() - i,
              to.begin() + static_cast<int64_t>(i));
}

// Of a one-hot row.
int32_t cell_of(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

int64_t FrameStore::frame_bytes(const EnvSpec& spec) {
  const int64_t elements = spec.observation_size();
  switch (spec.encoding) {
    case Encoding::kBits:
      return (elements + kPerByte - 1) / kPerByte;
    case Encoding::kBytes:
      return elements;
    case Encoding::kCell:
      return sizeof(int32_t);
    case Encoding::kReal:
      break;
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

FrameStore::FrameStore(const EnvSpec& spec, int64_t capacity)
    : encoding_(spec.encoding),
      elements_(spec.observation_size()),
      frame_bytes_(frame_bytes(spec)),
      capacity_(capacity),
      bytes_(static_cast<size_t>(capacity * frame_bytes_)) {
  TY_CHECK(capacity > 0, "a store of {} frames", capacity);
}

// Numbers never wrap; places do. The oldest frame is overwritten without asking: the memory sees to
// it that no transition needs it.
int64_t FrameStore::add(std::span<const float> observation) {
  std::byte* to = place(next_);
  switch (encoding_) {
    case Encoding::kBits:
      pack_bits(observation, to);
      break;
    case Encoding::kBytes:
      for (size_t i = 0; i < observation.size(); ++i) {
        to[i] = static_cast<std::byte>(std::lround(observation[i]));
      }
      break;
    case Encoding::kCell: {
      const int32_t cell = cell_of(observation);
      std::memcpy(to, &cell, sizeof(cell));
      break;
    }
    case Encoding::kReal:
      std::memcpy(to, observation.data(), observation.size_bytes());
      break;
  }
  return next_++;
}

std::span<const std::byte> FrameStore::encoded(int64_t number) const {
  TY_CHECK(number >= begin() && number < end(), "frame {} of [{}, {})", number, begin(), end());
  return {bytes_.data() + static_cast<size_t>(number % capacity_ * frame_bytes_),
          static_cast<size_t>(frame_bytes_)};
}

int64_t FrameStore::add_encoded(std::span<const std::byte> frame) {
  TY_CHECK(frame.size() == static_cast<size_t>(frame_bytes_), "a frame of {} bytes", frame.size());
  if (encoding_ == Encoding::kCell) {
    int32_t cell = 0;
    std::memcpy(&cell, frame.data(), sizeof(cell));
    TY_REQUIRE(cell >= 0 && cell < elements_, "a frame has cell {}, expected 0 to {}", cell,
               elements_ - 1);
  }
  std::copy(frame.begin(), frame.end(), place(next_));
  return next_++;
}

void FrameStore::read(int64_t number, std::span<float> to) const {
  const std::byte* from = encoded(number).data();
  switch (encoding_) {
    case Encoding::kBits:
      unpack_bits(from, to);
      break;
    case Encoding::kBytes:
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
      break;
    case Encoding::kCell: {
      int32_t cell = 0;
      std::memcpy(&cell, from, sizeof(cell));
      std::fill(to.begin(), to.end(), 0.0F);
      to[static_cast<size_t>(cell)] = 1;
      break;
    }
    case Encoding::kReal:
      std::memcpy(to.data(), from, to.size_bytes());
      break;
  }
}

}  // namespace trainyard::rl
