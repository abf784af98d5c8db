// A replay memory on the disk, beside the checkpoints of a run: what came since the last time is
// written, and a file of contents makes it count, whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rl/replay/replay_memory.h"

namespace trainyard::rl {

// Frames and transitions lie in files of so many; full ones are never written again.
inline constexpr int64_t kReplayChunk = 16384;

class ReplayFolder {
 public:
  // Creates it. Throws Failure if that cannot be done.
  explicit ReplayFolder(std::filesystem::path folder);

  // The memory at this step. Older steps but the one before are removed. Throws Failure.
  void save(const ReplayMemory& memory, int64_t step);
  // Throws Error if it is not there, damaged, or of another environment or capacity.
  void restore(int64_t step, ReplayMemory& memory);

  // Written by the last save().
  int64_t bytes_written() const { return bytes_written_; }

 private:
  struct Part {
    std::string file;
    int64_t first = 0;
    int64_t end = 0;
    uint32_t crc = 0;
  };
  using Parts = std::vector<Part>;

  std::filesystem::path contents_file(int64_t step) const;
  // Parts that hold [first, end) of numbered items, written unless `known` has them whole.
  template <typename Item>
  Parts save_parts(const char* kind, const Parts& known, int64_t first, int64_t end, Item&& item);
  Part save_part(const std::string& file, int64_t first, int64_t end, const std::string& bytes);
  std::string read_part(const Part& part) const;
  // The bytes of the items from number `begin` on, `width` for each. Throws Error.
  std::string read_items(const Parts& parts, int64_t begin, int64_t width) const;
  void remove_unused(int64_t step);

  std::filesystem::path folder_;
  Parts frames_;
  Parts transitions_;
  int64_t last_step_ = -1;
  int64_t bytes_written_ = 0;
};

}  // namespace trainyard::rl
