// MountainCar-v0: a car too weak for the hill must swing up. Moore 1990, as in Gymnasium.
#include <algorithm>
#include <cmath>

#include "rl/env/canvas.h"
#include "rl/env/copies.h"
#include "rl/env/numbers_state.h"

namespace trainyard::rl {
namespace {

constexpr double kLeftEnd = -1.2;
constexpr double kRightEnd = 0.6;
constexpr double kFastest = 0.07;
constexpr double kFlag = 0.5;

struct MountainCar {
  explicit MountainCar(const EnvOptions& /*options*/) {}

  EnvSpec spec() const {
    return {.name = "MountainCar-v0",
            .shape = {2},
            .actions = 3,
            .time_limit = 200,
            .reach = {0.9F, static_cast<float>(kFastest)}};
  }

  void reset(EventStream& chance) {
    position = chance.uniform(-0.6, -0.4);
    velocity = 0;
  }

  Outcome step(int32_t action, EventStream& /*chance*/) {
    velocity += (action - 1) * 0.001 + std::cos(3 * position) * -0.0025;
    velocity = std::clamp(velocity, -kFastest, kFastest);
    position = std::clamp(position + velocity, kLeftEnd, kRightEnd);
    if (position == kLeftEnd && velocity < 0) velocity = 0;
    return {.reward = -1, .terminated = position >= kFlag && velocity >= 0};
  }

  void observe(float* to) const {
    to[0] = static_cast<float>(position);
    to[1] = static_cast<float>(velocity);
  }

  Json state() const { return Json::array_of(std::vector<double>{position, velocity}); }
  void set_state(const Json& state) {
    double parts[2];
    read_numbers(state, parts, "MountainCar-v0");
    position = parts[0];
    velocity = parts[1];
  }

  double position = 0;
  double velocity = 0;
};

void draw_mountain_car(Canvas& canvas, std::span<const float> observation) {
  const auto side = static_cast<double>(canvas.width());
  const auto place = [&](double position) { return (position - kLeftEnd) / 1.8 * side; };
  const auto height = [&](double position) { return side * (0.6 - 0.3 * std::sin(3 * position)); };
  for (double p = kLeftEnd; p < kRightEnd; p += 0.01) {
    canvas.line(place(p), height(p), place(p + 0.01), height(p + 0.01), 2, kSoft);
  }
  canvas.line(place(kFlag), height(kFlag), place(kFlag), height(kFlag) - side / 6, 3, kWarm);
  const auto car = static_cast<double>(observation[0]);
  canvas.disc(place(car), height(car) - side / 24, side / 24, kAccent);
}

}  // namespace

extern const EnvironmentDef kMountainCar = {
    .name = "MountainCar-v0",
    .summary = "swing a weak car up a hill; -1 a step",
    .source = "Moore 1990; constants of Gymnasium 1.4",
    .threshold = -110,
    .make = make_copies<MountainCar>,
    .draw = draw_mountain_car,
};

}  // namespace trainyard::rl
