// What the MinAtar games share (Young, Tian: MinAtar, arXiv 1903.03176): a board of 10 by 10, six
// actions, sticky actions, and pictures of one channel per kind of thing. The rules of the games
// are reimplemented from their description.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "rl/env/canvas.h"
#include "rl/env/copies.h"

namespace trainyard::rl {

enum MinAtarAction : int32_t { kStay, kGoLeft, kGoUp, kGoRight, kGoDown, kFire };
inline constexpr int32_t kMinAtarActions = 6;
inline constexpr int32_t kBoardSide = 10;

// A row is ten bits, bit c its column c.
using Board = std::array<uint16_t, kBoardSide>;
inline bool has(const Board& board, int32_t row, int32_t column) {
  return (board[static_cast<size_t>(row)] >> column & 1) != 0;
}
inline void put(Board& board, int32_t row, int32_t column) {
  board[static_cast<size_t>(row)] |= static_cast<uint16_t>(1U << column);
}
inline void take(Board& board, int32_t row, int32_t column) {
  board[static_cast<size_t>(row)] &= static_cast<uint16_t>(~(1U << column));
}
// Rows of zeros and ones.
Json board_json(const Board& board);
Board read_board(const Json& rows);

// Timers and counters of a state stay far below it.
inline constexpr int32_t kMostCount = 1'000'000;

// A number of a state, which a game uses as a place in arrays. Throws Error naming `what` unless it
// is one of [low, high].
int32_t int_within(const Json& value, std::string_view what, int32_t low, int32_t high);
inline int32_t int_of(const Json& state, const char* key, int32_t low = -kMostCount,
                      int32_t high = kMostCount) {
  return int_within(state.at(key), key, low, high);
}
// A row or column.
inline int32_t place_of(const Json& state, const char* key) {
  return int_of(state, key, 0, kBoardSide - 1);
}

// Channels of an observation, to be set to 1 where something is.
class ObservationChannels {
 public:
  ObservationChannels(float* to, int32_t channels) : to_(to) {
    std::fill_n(to, channels * kBoardSide * kBoardSide, 0.0F);
  }
  void set(int32_t channel, int32_t row, int32_t column) {
    to_[(channel * kBoardSide + row) * kBoardSide + column] = 1;
  }
  void set(int32_t channel, const Board& board) {
    for (int32_t row = 0; row < kBoardSide; ++row) {
      for (uint32_t left = board[static_cast<size_t>(row)]; left != 0; left &= left - 1) {
        set(channel, row, __builtin_ctz(left));
      }
    }
  }
  // Nothing where the column is off the board.
  void set_on_board(int32_t channel, int32_t row, int32_t column) {
    if (column >= 0 && column < kBoardSide) set(channel, row, column);
  }

 private:
  float* to_;
};

// Sticky actions around a game, which is a struct with
//   kName, kChannels, kMinimal (the actions that do something)
//   Rules(bool ramping), reset(chance), play(action, chance), paint(to), state(), set_state(json)
template <typename Rules>
struct MinAtar {
  explicit MinAtar(const EnvOptions& options)
      : rules(options.ramping), sticky(options.sticky), minimal(options.minimal) {}

  EnvSpec spec() const {
    const auto few = static_cast<int64_t>(std::size(Rules::kMinimal));
    return {.name = std::string("MinAtar/") + Rules::kName + (minimal ? "-v1" : "-v0"),
            .shape = {Rules::kChannels, kBoardSide, kBoardSide},
            .actions = minimal ? few : kMinAtarActions,
            .encoding = Encoding::kBits,
            .time_limit = 0};
  }

  void reset(EventStream& chance) { rules.reset(chance); }

  Outcome step(int32_t action, EventStream& chance) {
    // The action that was applied last is repeated, over the end of an episode too.
    if (chance.uniform() >= sticky) {
      last_action = minimal ? Rules::kMinimal[static_cast<size_t>(action)] : action;
    }
    return rules.play(last_action, chance);
  }

  void observe(float* to) const { rules.paint(ObservationChannels(to, Rules::kChannels)); }

  Json state() const {
    Json fields = rules.state();
    fields["last_action"] = last_action;
    return fields;
  }
  void set_state(const Json& state) {
    rules.set_state(state);
    if (state.find("last_action") != nullptr) {
      last_action = int_of(state, "last_action", 0, kMinAtarActions - 1);
    }
  }

  Rules rules;
  double sticky;
  bool minimal;
  int32_t last_action = kStay;
};

// A color per channel; later ones lie on top.
void draw_channels(Canvas& canvas, std::span<const float> observation);

inline int32_t step_within(int32_t from, int32_t by, int32_t low, int32_t high) {
  return std::clamp(from + by, low, high);
}

}  // namespace trainyard::rl
