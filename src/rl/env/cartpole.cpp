// CartPole-v1: a cart must keep a pole upright. Barto, Sutton, Anderson 1983, with the constants of
// Gymnasium.
#include <cmath>
#include <numbers>

#include "rl/env/canvas.h"
#include "rl/env/copies.h"
#include "rl/env/numbers_state.h"

namespace trainyard::rl {
namespace {

constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = 1.1;
constexpr double kHalfLength = 0.5;
constexpr double kMassLength = kPoleMass * kHalfLength;
constexpr double kForce = 10.0;
constexpr double kTick = 0.02;
constexpr double kTrackEnd = 2.4;
constexpr double kLean = 12 * 2 * std::numbers::pi / 360;
constexpr int64_t kCartPoleSteps = 500;

struct CartPole {
  explicit CartPole(const EnvOptions& /*options*/) {}

  EnvSpec spec() const {
    return {.name = "CartPole-v1", .shape = {4}, .actions = 2, .time_limit = kCartPoleSteps};
  }

  void reset(EventStream& chance) {
    for (double* part : {&x, &velocity, &angle, &spin}) *part = chance.uniform(-0.05, 0.05);
  }

  Outcome step(int32_t action, EventStream& /*chance*/) {
    const double force = action == 1 ? kForce : -kForce;
    const double sine = std::sin(angle);
    const double cosine = std::cos(angle);
    const double push = (force + kMassLength * spin * spin * sine) / kTotalMass;
    const double spin_up = (kGravity * sine - cosine * push) /
                           (kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kTotalMass));
    const double speed_up = push - kMassLength * spin_up * cosine / kTotalMass;
    // Euler with the old velocities.
    x += kTick * velocity;
    velocity += kTick * speed_up;
    angle += kTick * spin;
    spin += kTick * spin_up;
    return {.reward = 1,
            .terminated = x < -kTrackEnd || x > kTrackEnd || angle < -kLean || angle > kLean};
  }

  void observe(float* to) const {
    to[0] = static_cast<float>(x);
    to[1] = static_cast<float>(velocity);
    to[2] = static_cast<float>(angle);
    to[3] = static_cast<float>(spin);
  }

  Json state() const { return Json::array_of(std::vector<double>{x, velocity, angle, spin}); }
  void set_state(const Json& state) {
    double parts[4];
    read_numbers(state, parts, "CartPole-v1");
    x = parts[0];
    velocity = parts[1];
    angle = parts[2];
    spin = parts[3];
  }

  double x = 0;
  double velocity = 0;
  double angle = 0;
  double spin = 0;
};

void draw_cartpole(Canvas& canvas, std::span<const float> observation) {
  const auto side = static_cast<double>(canvas.width());
  const double floor = side * 0.75;
  const double cart = side * (0.5 + static_cast<double>(observation[0]) / (2 * 2.6));
  const auto angle = static_cast<double>(observation[2]);
  canvas.fill(0, floor, side, floor + 2, kSoft);
  canvas.fill(cart - side / 10, floor - side / 10, cart + side / 10, floor, kInk);
  const double top = floor - side / 10;
  canvas.line(cart, top, cart + std::sin(angle) * side / 2.2, top - std::cos(angle) * side / 2.2,
              side / 24, kWarm);
}

}  // namespace

extern const EnvironmentDef kCartPole = {
    .name = "CartPole-v1",
    .summary = "keep a pole upright on a cart; +1 a step",
    .source = "Barto, Sutton, Anderson 1983; constants of Gymnasium 1.4",
    .threshold = 475,
    .make = make_copies<CartPole>,
    .draw = draw_cartpole,
};

}  // namespace trainyard::rl
