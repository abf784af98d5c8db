// CliffWalking-v1: along a cliff to the goal. Sutton and Barto, example 6.6, as in Gymnasium.
#include "rl/env/copies.h"
#include "rl/env/grid.h"

namespace trainyard::rl {
namespace {

constexpr Grid kCliffGrid{4, 12};
constexpr int64_t kCliffStart = 36;
constexpr int64_t kCliffGoal = 47;

bool is_cliff(int64_t cell) {
  return cell > kCliffStart && cell < kCliffGoal;
}

struct CliffWalking {
  explicit CliffWalking(const EnvOptions& options) : slippery(options.slippery.value_or(false)) {}

  EnvSpec spec() const {
    return {.name = slippery ? "CliffWalkingSlippery-v1" : "CliffWalking-v1",
            .shape = {kCliffGrid.cells()},
            .actions = 4,
            .encoding = Encoding::kCell};
  }

  void reset(EventStream& chance) {
    chance.uniform();  // among one place to start
    cell = kCliffStart;
  }

  // Up, right, down, left.
  Outcome step(int32_t action, EventStream& chance) {
    constexpr int64_t kDown[] = {-1, 0, 1, 0};
    constexpr int64_t kRight[] = {0, 1, 0, -1};
    const int32_t way = slip(action, slippery, chance);
    cell = kCliffGrid.moved(cell, kDown[way], kRight[way]);
    if (!is_cliff(cell)) return {.reward = -1, .terminated = cell == kCliffGoal};
    cell = kCliffStart;
    return {.reward = -100};
  }

  void observe(float* to) const { one_hot(cell, kCliffGrid.cells(), to); }
  Json state() const { return cell; }
  void set_state(const Json& state) { cell = read_cell(state, kCliffGrid, "CliffWalking"); }

  bool slippery;
  int64_t cell = kCliffStart;
};

std::unique_ptr<Environment> make_slippery(const EnvOptions& options, int64_t copies) {
  EnvOptions icy = options;
  icy.slippery = options.slippery.value_or(true);
  return make_copies<CliffWalking>(icy, copies);
}

void draw_cliff(Canvas& canvas, std::span<const float> observation) {
  for (int64_t cell = 0; cell < kCliffGrid.cells(); ++cell) {
    fill_cell(canvas, kCliffGrid, cell,
              is_cliff(cell) ? kInk : (cell == kCliffGoal ? kAccent : kSoft));
  }
  draw_walker(canvas, kCliffGrid, hot_cell(observation));
}

}  // namespace

extern const EnvironmentDef kCliffWalking = {
    .name = "CliffWalking-v1",
    .summary = "walk along a cliff; -1 a step, -100 for a fall",
    .source = "Sutton, Barto: Reinforcement Learning, example 6.6; as in Gymnasium 1.4",
    .threshold = -13,
    .make = make_copies<CliffWalking>,
    .draw = draw_cliff,
};

extern const EnvironmentDef kCliffWalkingSlippery = {
    .name = "CliffWalkingSlippery-v1",
    .summary = "the same on ice: a third of the steps go to each side",
    .source = "Gymnasium 1.4",
    .threshold = kNoThreshold,
    .make = make_slippery,
    .draw = draw_cliff,
};

}  // namespace trainyard::rl
