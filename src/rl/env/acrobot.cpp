// Acrobot-v1: two links, a motor between them, and the tip must swing above a line. Sutton 1996, in
// the form of Sutton and Barto's book, as in Gymnasium.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "rl/env/canvas.h"
#include "rl/env/copies.h"
#include "rl/env/numbers_state.h"

namespace trainyard::rl {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLinkGravity = 9.8;
constexpr double kCenter = 0.5;  // of mass, along a link of length and mass 1
constexpr double kInertia = 1.0;
constexpr double kLinkTick = 0.2;

// Both angles (the second relative to the first), both velocities.
using Links = std::array<double, 4>;

Links rate_of_change(const Links& at, double torque) {
  const auto [first, second, first_spin, second_spin] = at;
  const double d1 = kCenter * kCenter + (1 + kCenter * kCenter + 2 * kCenter * std::cos(second)) +
                    kInertia + kInertia;
  const double d2 = (kCenter * kCenter + kCenter * std::cos(second)) + kInertia;
  const double phi2 = kCenter * kLinkGravity * std::cos(first + second - kPi / 2);
  const double phi1 = -kCenter * second_spin * second_spin * std::sin(second) -
                      2 * kCenter * second_spin * first_spin * std::sin(second) +
                      (kCenter + 1) * kLinkGravity * std::cos(first - kPi / 2) + phi2;
  const double second_up =
      (torque + d2 / d1 * phi1 - kCenter * first_spin * first_spin * std::sin(second) - phi2) /
      (kCenter * kCenter + kInertia - d2 * d2 / d1);
  const double first_up = -(d2 * second_up + phi1) / d1;
  return {first_spin, second_spin, first_up, second_up};
}

Links moved(const Links& from, const Links& rate, double by) {
  Links to = from;
  for (size_t i = 0; i < to.size(); ++i) to[i] += by * rate[i];
  return to;
}

// One step of the classical Runge-Kutta method.
Links after_tick(const Links& from, double torque) {
  const Links k1 = rate_of_change(from, torque);
  const Links k2 = rate_of_change(moved(from, k1, kLinkTick / 2), torque);
  const Links k3 = rate_of_change(moved(from, k2, kLinkTick / 2), torque);
  const Links k4 = rate_of_change(moved(from, k3, kLinkTick), torque);
  Links to = from;
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] += kLinkTick / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
  return to;
}

double wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

struct Acrobot {
  explicit Acrobot(const EnvOptions& /*options*/) {}

  EnvSpec spec() const {
    return {.name = "Acrobot-v1", .shape = {6}, .actions = 3, .time_limit = 500};
  }

  void reset(EventStream& chance) {
    for (double& part : links) {
      part = static_cast<double>(static_cast<float>(chance.uniform(-0.1, 0.1)));
    }
  }

  Outcome step(int32_t action, EventStream& /*chance*/) {
    links = after_tick(links, action - 1);
    links[0] = wrapped(links[0]);
    links[1] = wrapped(links[1]);
    links[2] = std::clamp(links[2], -4 * kPi, 4 * kPi);
    links[3] = std::clamp(links[3], -9 * kPi, 9 * kPi);
    const bool high = -std::cos(links[0]) - std::cos(links[1] + links[0]) > 1;
    return {.reward = high ? 0.0F : -1.0F, .terminated = high};
  }

  void observe(float* to) const {
    to[0] = static_cast<float>(std::cos(links[0]));
    to[1] = static_cast<float>(std::sin(links[0]));
    to[2] = static_cast<float>(std::cos(links[1]));
    to[3] = static_cast<float>(std::sin(links[1]));
    to[4] = static_cast<float>(links[2]);
    to[5] = static_cast<float>(links[3]);
  }

  Json state() const { return Json::array_of(links); }
  void set_state(const Json& state) { read_numbers(state, links, "Acrobot-v1"); }

  Links links{};
};

void draw_acrobot(Canvas& canvas, std::span<const float> observation) {
  const auto side = static_cast<double>(canvas.width());
  const double length = side * 0.22;
  const double first = std::atan2(observation[1], observation[0]);
  const double second = first + std::atan2(observation[3], observation[2]);
  const double middle = side / 2;
  canvas.fill(0, middle - length, side, middle - length + 1, kSoft);
  const double elbow_x = middle + length * std::sin(first);
  const double elbow_y = middle + length * std::cos(first);
  canvas.line(middle, middle, elbow_x, elbow_y, side / 24, kInk);
  canvas.line(elbow_x, elbow_y, elbow_x + length * std::sin(second),
              elbow_y + length * std::cos(second), side / 24, kWarm);
}

}  // namespace

extern const EnvironmentDef kAcrobot = {
    .name = "Acrobot-v1",
    .summary = "swing the tip of two links above a line; -1 a step",
    .source = "Sutton 1996; constants of Gymnasium 1.4",
    .threshold = -100,
    .make = make_copies<Acrobot>,
    .draw = draw_acrobot,
};

}  // namespace trainyard::rl
