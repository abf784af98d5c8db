// FrozenLake-v1: over ice to the goal without falling into a hole, as in Gymnasium.
#include <algorithm>
#include <string_view>

#include "rl/env/copies.h"
#include "rl/env/grid.h"

namespace trainyard::rl {
namespace {

// Row by row: S start, F frozen, H hole, G goal.
constexpr std::string_view kSmallLake = "SFFFFHFHFFFHHFFG";
constexpr std::string_view kLargeLake =
    "SFFFFFFFFFFFFFFFFFFHFFFFFFFFFHFFFFFHFFFFFHHFFFHFFHFFHFHFFFFHFFFG";

Grid grid_of(std::string_view lake) {
  const int64_t side = lake.size() == kSmallLake.size() ? 4 : 8;
  return {side, side};
}

struct FrozenLake {
  explicit FrozenLake(const EnvOptions& options)
      : lake(options.map == "8x8" ? kLargeLake : kSmallLake),
        slippery(options.slippery.value_or(true)) {}

  EnvSpec spec() const {
    return {.name = lake == kSmallLake ? "FrozenLake-v1" : "FrozenLake8x8-v1",
            .shape = {grid_of(lake).cells()},
            .actions = 4,
            .encoding = Encoding::kCell,
            .time_limit = lake == kSmallLake ? 100 : 200};
  }

  void reset(EventStream& chance) {
    chance.uniform();  // among one place to start
    cell = 0;
  }

  // Left, down, right, up.
  Outcome step(int32_t action, EventStream& chance) {
    constexpr int64_t kDown[] = {0, 1, 0, -1};
    constexpr int64_t kRight[] = {-1, 0, 1, 0};
    const int32_t way = slip(action, slippery, chance);
    cell = grid_of(lake).moved(cell, kDown[way], kRight[way]);
    const char place = lake[static_cast<size_t>(cell)];
    return {.reward = place == 'G' ? 1.0F : 0.0F, .terminated = place == 'G' || place == 'H'};
  }

  void observe(float* to) const { one_hot(cell, grid_of(lake).cells(), to); }
  Json state() const { return cell; }
  void set_state(const Json& state) { cell = read_cell(state, grid_of(lake), "FrozenLake"); }

  std::string_view lake;
  bool slippery;
  int64_t cell = 0;
};

std::unique_ptr<Environment> make_large_lake(const EnvOptions& options, int64_t copies) {
  EnvOptions large = options;
  if (large.map.empty()) large.map = "8x8";
  return make_copies<FrozenLake>(large, copies);
}

void draw_lake(Canvas& canvas, std::span<const float> observation) {
  const std::string_view lake = observation.size() == kSmallLake.size() ? kSmallLake : kLargeLake;
  for (size_t i = 0; i < lake.size(); ++i) {
    fill_cell(canvas, grid_of(lake), static_cast<int64_t>(i),
              lake[i] == 'H' ? kInk : (lake[i] == 'G' ? kAccent : kSoft));
  }
  draw_walker(canvas, grid_of(lake), hot_cell(observation));
}

}  // namespace

extern const EnvironmentDef kFrozenLake = {
    .name = "FrozenLake-v1",
    .summary = "over slippery ice to the goal; 1 when there",
    .source = "Gymnasium 1.4, map 4x4",
    .threshold = 0.70,
    .make = make_copies<FrozenLake>,
    .draw = draw_lake,
};

extern const EnvironmentDef kFrozenLake8x8 = {
    .name = "FrozenLake8x8-v1",
    .summary = "a larger lake",
    .source = "Gymnasium 1.4, map 8x8",
    .threshold = 0.85,
    .make = make_large_lake,
    .draw = draw_lake,
};

}  // namespace trainyard::rl
