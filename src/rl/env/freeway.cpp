// MinAtar's Freeway: a chicken crosses eight lanes of cars as often as it can in 2500 frames.
#include "rl/env/minatar.h"

namespace trainyard::rl {
namespace {

constexpr int32_t kChickenColumn = 4;
constexpr int32_t kChickenRest = 3;  // frames between its steps
constexpr int32_t kGameFrames = 2500;
constexpr int32_t kTopSpeed = 5;

struct Car {
  int32_t x = 0;
  int32_t timer = 0;
  int32_t speed = 0;  // frames it waits between steps, less than 0: to the left
};

// Rules, numbers and the order of random draws are those of MinAtar's own code, against which
// recordings check them step by step.
struct Freeway {
  static constexpr const char* kName = "Freeway";
  static constexpr int32_t kChannels = 7;  // chicken, car, speed 1 … 5
  static constexpr int32_t kMinimal[] = {kStay, kGoUp, kGoDown};

  explicit Freeway(bool /*ramping*/) {}

  void reset(EventStream& chance) {
    cars = {};
    draw_speeds(chance);
    chicken = 9;
    move_timer = kChickenRest;
    frames_left = kGameFrames;
    terminal = false;
  }

  void draw_speeds(EventStream& chance) {
    // All speeds first, then all directions: the order of draws is MinAtar's.
    for (Car& car : cars) car.speed = static_cast<int32_t>(chance.between(1, kTopSpeed + 1));
    for (Car& car : cars) {
      car.timer = car.speed;
      if (chance.uniform() < 0.5) car.speed = -car.speed;
    }
  }

  Outcome play(int32_t action, EventStream& chance) {
    float reward = 0;
    if ((action == kGoUp || action == kGoDown) && move_timer == 0) {
      move_timer = kChickenRest;
      chicken = step_within(chicken, action == kGoUp ? -1 : 1, 0, 9);
    }
    if (chicken == 0) {
      reward = 1;
      draw_speeds(chance);
      chicken = 9;
    }
    // Cars move after the chicken, and a hit is tested before and after each car's step.
    for (int32_t lane = 0; lane < static_cast<int32_t>(cars.size()); ++lane) advance(lane);
    if (move_timer > 0) --move_timer;
    terminal = --frames_left < 0;
    return {.reward = reward, .terminated = terminal};
  }

  void advance(int32_t lane) {
    Car& car = cars[static_cast<size_t>(lane)];
    const auto hit = [&] { return car.x == kChickenColumn && chicken == lane + 1; };
    if (hit()) chicken = 9;
    if (car.timer > 0) {
      --car.timer;
      return;
    }
    car.timer = std::abs(car.speed);
    // 9 is one to the left on a board of ten.
    car.x = (car.x + (car.speed > 0 ? 1 : 9)) % 10;
    if (hit()) chicken = 9;
  }

  void paint(ObservationChannels to) const {
    to.set(0, chicken, kChickenColumn);
    for (int32_t lane = 0; lane < static_cast<int32_t>(cars.size()); ++lane) {
      const Car& car = cars[static_cast<size_t>(lane)];
      to.set(1, lane + 1, car.x);
      // The channel tells the speed; it is lit behind the car, as its trail.
      to.set(1 + std::abs(car.speed), lane + 1, (car.x + (car.speed > 0 ? 9 : 1)) % 10);
    }
  }

  Json state() const {
    Json list = Json::array();
    for (size_t lane = 0; lane < cars.size(); ++lane) {
      list.push_back(Json(Json::Array{cars[lane].x, static_cast<int64_t>(lane) + 1,
                                      cars[lane].timer, cars[lane].speed}));
    }
    return Json::object({{"cars", std::move(list)},
                         {"pos", chicken},
                         {"move_timer", move_timer},
                         {"terminate_timer", frames_left},
                         {"terminal", terminal}});
  }

  void set_state(const Json& state) {
    const Json::Array& list = state.at("cars").items();
    TY_REQUIRE(list.size() == cars.size(), "Freeway has {} cars, found {}", cars.size(),
               list.size());
    for (size_t lane = 0; lane < cars.size(); ++lane) {
      const Json::Array& car = list[lane].items();
      TY_REQUIRE(car.size() == 4, "a car is x, lane, timer and speed, found {}",
                 list[lane].dump(-1));
      cars[lane] = {.x = int_within(car[0], "x of a car", 0, kBoardSide - 1),
                    .timer = int_within(car[2], "timer of a car", 0, kMostCount),
                    .speed = int_within(car[3], "speed of a car", -kTopSpeed, kTopSpeed)};
    }
    chicken = place_of(state, "pos");
    move_timer = int_of(state, "move_timer");
    frames_left = int_of(state, "terminate_timer");
    terminal = state.at("terminal").as_bool();
  }

  std::array<Car, 8> cars{};
  int32_t chicken = 0, move_timer = 0, frames_left = 0;
  bool terminal = false;
};

}  // namespace

extern const EnvironmentDef kFreeway = {
    .name = "MinAtar/Freeway-v0",
    .summary = "cross a road of eight lanes",
    .source = "Young, Tian 2019 (MinAtar)",
    .threshold = kNoThreshold,
    .make = make_copies<MinAtar<Freeway>>,
    .draw = draw_channels,
};

}  // namespace trainyard::rl
