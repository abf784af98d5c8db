// Atari games as agents see them (Mnih et al. 2015): four frames to a step, gray pictures of 84x84,
// the last four of them together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "rl/env/environment.h"

namespace trainyard::rl {

// A console with a game in it. Not thread-safe.
class Console {
 public:
  virtual ~Console() = default;
  virtual void reset() = 0;
  // One frame; its reward. Action 0 does nothing.
  virtual double act(int32_t action) = 0;
  virtual bool game_over() const = 0;
  virtual int64_t lives() const = 0;
  // Gray, row by row; valid until the next call.
  virtual std::span<const uint8_t> screen() const = 0;
  virtual int64_t height() const = 0;
  virtual int64_t width() const = 0;
  virtual int64_t actions() const = 0;
  // The action that starts a game which waits for it; -1: there is none.
  virtual int32_t fire() const = 0;
};

// A picture of height x width made smaller: each of the `side` x `side` pixels is the mean of the
// area that it covers, rounded.
void shrink_picture(std::span<const uint8_t> from, int64_t height, int64_t width, int64_t side,
                    std::span<uint8_t> to);

// `start` makes the console of a copy, by its seed. An episode of the agent ends with each life;
// the game itself is reset only when it is over, and then begins with 1 to 30 frames of doing
// nothing. Rewards are those of the game.
using StartConsole = std::function<std::unique_ptr<Console>(uint64_t seed)>;
std::unique_ptr<Environment> make_atari(const std::string& name, const StartConsole& start,
                                        int64_t copies);

// "ale:ROM": the game of this file on the Arcade Learning Environment. Throws Error where that was
// not found when this program was built.
std::unique_ptr<Environment> make_ale(const std::string& rom, double sticky, int64_t copies);

}  // namespace trainyard::rl
