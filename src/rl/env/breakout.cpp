// MinAtar's Breakout: a paddle keeps a ball in play, which removes bricks.
#include "rl/env/minatar.h"

namespace trainyard::rl {
namespace {

// Up-left, up-right, down-right, down-left.
constexpr int32_t kBallRight[] = {-1, 1, 1, -1};
constexpr int32_t kBallDown[] = {-1, -1, 1, 1};
constexpr int32_t kMirrored[] = {1, 0, 3, 2};  // at a side
constexpr int32_t kBounced[] = {3, 2, 1, 0};   // at the top, a brick, the paddle
constexpr int32_t kReversed[] = {2, 3, 0, 1};  // at the edge of the paddle

struct Breakout {
  static constexpr const char* kName = "Breakout";
  static constexpr int32_t kChannels = 4;  // paddle, ball, trail, brick
  static constexpr int32_t kMinimal[] = {kStay, kGoLeft, kGoRight};

  explicit Breakout(bool /*ramping*/) {}

  void reset(EventStream& chance) {
    const bool from_right = chance.between(0, 2) == 1;
    ball_x = last_x = from_right ? 9 : 0;
    ball_y = last_y = 3;
    way = from_right ? 3 : 2;
    paddle = 4;
    fill_bricks();
    strike = terminal = false;
  }

  void fill_bricks() {
    bricks = {};
    // Ten bits: a full row.
    for (size_t row = 1; row <= 3; ++row) bricks[row] = 0x3ff;
  }

  Outcome play(int32_t action, EventStream& /*chance*/) {
    // The ball lies in the last row, below which there is nothing.
    if (terminal) return {.terminated = true};
    if (action == kGoLeft) paddle = step_within(paddle, -1, 0, 9);
    if (action == kGoRight) paddle = step_within(paddle, 1, 0, 9);
    last_x = ball_x;
    last_y = ball_y;
    int32_t x = ball_x + kBallRight[way];
    int32_t y = ball_y + kBallDown[way];
    if (x < 0 || x > 9) {
      x = std::clamp(x, 0, 9);
      way = kMirrored[way];
    }
    float reward = 0;
    // `strike` keeps the ball from taking two bricks in a row: the second one is passed.
    bool touching = false;
    if (y < 0) {
      y = 0;
      way = kBounced[way];
    } else if (has(bricks, y, x)) {
      touching = true;
      if (!strike) {
        reward = 1;
        strike = true;
        take(bricks, y, x);
        y = last_y;
        way = kBounced[way];
      }
    } else if (y == 9) {
      y = meet_paddle(x);
    }
    if (!touching) strike = false;
    ball_x = x;
    ball_y = y;
    return {.reward = reward, .terminated = terminal};
  }

  // The row that the ball is in after it came down at column x.
  int32_t meet_paddle(int32_t x) {
    if ((bricks[1] | bricks[2] | bricks[3]) == 0) fill_bricks();
    // The column before the step: a ball that comes down straight onto the paddle bounces, one that
    // meets its edge goes back where it came from.
    if (last_x == paddle) {
      way = kBounced[way];
    } else if (x == paddle) {
      way = kReversed[way];
    } else {
      terminal = true;
      return 9;
    }
    return last_y;
  }

  void paint(ObservationChannels to) const {
    to.set(1, ball_y, ball_x);
    to.set(0, 9, paddle);
    to.set(2, last_y, last_x);
    to.set(3, bricks);
  }

  Json state() const {
    return Json::object({{"ball_x", ball_x},
                         {"ball_y", ball_y},
                         {"ball_dir", way},
                         {"pos", paddle},
                         {"brick_map", board_json(bricks)},
                         {"strike", strike},
                         {"last_x", last_x},
                         {"last_y", last_y},
                         {"terminal", terminal}});
  }

  void set_state(const Json& state) {
    ball_x = place_of(state, "ball_x");
    ball_y = place_of(state, "ball_y");
    way = int_of(state, "ball_dir", 0, 3);
    paddle = place_of(state, "pos");
    bricks = read_board(state.at("brick_map"));
    // The ball would pass one of them and leave the board.
    TY_REQUIRE(bricks[kBoardSide - 1] == 0,
               "'brick_map' of a state has bricks in row {}, the paddle's, expected none",
               kBoardSide - 1);
    strike = state.at("strike").as_bool();
    last_x = place_of(state, "last_x");
    last_y = place_of(state, "last_y");
    terminal = state.at("terminal").as_bool();
    TY_REQUIRE(terminal || ball_y < kBoardSide - 1,
               "'ball_y' of a state is below {} unless the game is over, found {}", kBoardSide - 1,
               ball_y);
  }

  int32_t ball_x = 0, ball_y = 0, way = 0, paddle = 0, last_x = 0, last_y = 0;
  Board bricks{};
  bool strike = false;  // the ball has just taken a brick and passes through the next
  bool terminal = false;
};

}  // namespace

extern const EnvironmentDef kBreakout = {
    .name = "MinAtar/Breakout-v0",
    .summary = "bounce a ball off a paddle into bricks",
    .source = "Young, Tian 2019 (MinAtar)",
    .threshold = kNoThreshold,
    .make = make_copies<MinAtar<Breakout>>,
    .draw = draw_channels,
};

}  // namespace trainyard::rl
