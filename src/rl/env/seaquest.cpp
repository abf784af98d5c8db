// MinAtar's Seaquest: a submarine shoots fish and submarines, gathers divers and surfaces for air.
#include <vector>

#include "rl/env/minatar.h"

namespace trainyard::rl {
namespace {

constexpr int32_t kFullTank = 200;
constexpr int32_t kEnemySpawn = 20;
constexpr int32_t kDiverSpawn = 30;
constexpr int32_t kEnemySpeed = 5;
constexpr int32_t kDiverSpeed = 5;
constexpr int32_t kCannonReload = 5;
constexpr int32_t kSubReload = 10;
constexpr int32_t kSeats = 6;

// Bullets, fish, submarines and divers; the timers of those that have none stay 0.
struct SeaObject {
  int32_t x = 0;
  int32_t y = 0;
  bool right = false;
  int32_t move_timer = 0;
  int32_t shot_timer = 0;

  void advance() { x += right ? 1 : -1; }
  bool off_board() const { return x < 0 || x > 9; }
};
using Swimmers = std::vector<SeaObject>;

// `timers`: how many of them the recorded form has.
Json swimmers_json(const Swimmers& swimmers, int timers) {
  Json list = Json::array();
  for (const SeaObject& it : swimmers) {
    Json fields(Json::Array{it.x, it.y, it.right});
    if (timers > 0) fields.push_back(it.move_timer);
    if (timers > 1) fields.push_back(it.shot_timer);
    list.push_back(std::move(fields));
  }
  return list;
}

// Recorded lists leave out timers that are always 0.
Swimmers read_swimmers(const Json& list) {
  Swimmers swimmers;
  for (const Json& item : list.items()) {
    const Json::Array& fields = item.items();
    TY_REQUIRE(fields.size() >= 3, "expected x, y and direction, found {}", item.dump(-1));
    const auto timer = [&](size_t i) {
      return i < fields.size() ? int_within(fields[i], "timer of a swimmer", 0, kMostCount) : 0;
    };
    swimmers.push_back({.x = int_within(fields[0], "x of a swimmer", 0, kBoardSide - 1),
                        .y = int_within(fields[1], "y of a swimmer", 0, kBoardSide - 1),
                        .right = fields[2].as_bool(),
                        .move_timer = timer(3),
                        .shot_timer = timer(4)});
  }
  return swimmers;
}

// Removes the first that is at the same place as `it`, if there is one.
bool remove_at(Swimmers& swimmers, const SeaObject& it) {
  const auto found = std::find_if(swimmers.begin(), swimmers.end(), [&](const SeaObject& other) {
    return other.x == it.x && other.y == it.y;
  });
  if (found == swimmers.end()) return false;
  swimmers.erase(found);
  return true;
}

struct Seaquest {
  static constexpr const char* kName = "Seaquest";
  // Front and back of the submarine, friendly bullet, trail, enemy bullet, fish, enemy submarine,
  // gauges of oxygen and of divers, diver.
  static constexpr int32_t kChannels = 10;
  static constexpr int32_t kMinimal[] = {kStay, kGoLeft, kGoUp, kGoRight, kGoDown, kFire};

  explicit Seaquest(bool ramps) : ramping(ramps) {}

  void reset(EventStream& /*chance*/) { *this = Seaquest(ramping); }

  Outcome play(int32_t action, EventStream& chance) {
    // The order of everything below is MinAtar's: rewards and ends depend on it.
    reward = 0;
    if (enemy_timer == 0) {
      spawn_enemy(chance);
      enemy_timer = spawn_speed;
    }
    if (diver_timer == 0) {
      spawn_diver(chance);
      diver_timer = kDiverSpawn;
    }
    act(action);
    move_bullets();
    move_divers();
    move_enemies(submarines, true);
    move_enemy_bullets();
    move_enemies(fish, false);
    for (int32_t* timer : {&enemy_timer, &diver_timer, &shot_timer}) {
      if (*timer > 0) --*timer;
    }
    breathe();
    return {.reward = reward, .terminated = terminal};
  }

  void spawn_enemy(EventStream& chance) {
    // All three are drawn before anything is decided, as in MinAtar.
    const bool right = chance.uniform() < 0.5;
    const bool submarine = chance.uniform() < 1.0 / 3.0;
    const auto row = static_cast<int32_t>(chance.between(1, 9));
    // No two enemies face each other in a row.
    const auto opposed = [&](const SeaObject& it) { return it.y == row && it.right != right; };
    if (std::any_of(submarines.begin(), submarines.end(), opposed)) return;
    if (std::any_of(fish.begin(), fish.end(), opposed)) return;
    (submarine ? submarines : fish)
        .push_back({right ? 0 : 9, row, right, move_speed, submarine ? kSubReload : 0});
  }

  void spawn_diver(EventStream& chance) {
    const bool right = chance.uniform() < 0.5;
    const auto row = static_cast<int32_t>(chance.between(1, 9));
    divers.push_back({right ? 0 : 9, row, right, kDiverSpeed});
  }

  void act(int32_t action) {
    if (action == kFire && shot_timer == 0) {
      bullets.push_back({x, y, facing_right});
      shot_timer = kCannonReload;
    }
    if (action == kGoLeft || action == kGoRight) {
      facing_right = action == kGoRight;
      x = step_within(x, facing_right ? 1 : -1, 0, 9);
    }
    if (action == kGoUp) y = step_within(y, -1, 0, 8);
    if (action == kGoDown) y = step_within(y, 1, 0, 8);
  }

  bool on_sub(const SeaObject& it) const { return it.x == x && it.y == y; }

  // Here and below the newest come first.
  void move_bullets() {
    for (size_t i = bullets.size(); i-- > 0;) {
      bullets[i].advance();
      bool gone = bullets[i].off_board();
      if (!gone && (remove_at(fish, bullets[i]) || remove_at(submarines, bullets[i]))) {
        reward += 1;
        gone = true;
      }
      if (gone) bullets.erase(bullets.begin() + static_cast<int64_t>(i));
    }
  }

  bool pick_up(const SeaObject& it) {
    if (!on_sub(it) || aboard >= kSeats) return false;
    ++aboard;
    return true;
  }

  void move_divers() {
    for (size_t i = divers.size(); i-- > 0;) {
      SeaObject& it = divers[i];
      bool gone = pick_up(it);
      if (!gone && it.move_timer > 0) {
        --it.move_timer;
      } else if (!gone) {
        it.move_timer = kDiverSpeed;
        it.advance();
        gone = it.off_board() || pick_up(it);
      }
      if (gone) divers.erase(divers.begin() + static_cast<int64_t>(i));
    }
  }

  void move_enemies(Swimmers& enemies, bool shoot) {
    for (size_t i = enemies.size(); i-- > 0;) {
      SeaObject& it = enemies[i];
      bool gone = false;
      if (on_sub(it)) terminal = true;
      if (it.move_timer > 0) {
        --it.move_timer;
      } else {
        it.move_timer = move_speed;
        it.advance();
        if (it.off_board()) {
          gone = true;
        } else if (on_sub(it)) {
          terminal = true;
        } else if (remove_at(bullets, it)) {
          reward += 1;
          gone = true;
        }
      }
      // Even if it has just left the board or was shot, as in MinAtar.
      if (shoot) fire_back(it);
      if (gone) enemies.erase(enemies.begin() + static_cast<int64_t>(i));
    }
  }

  void fire_back(SeaObject& it) {
    if (it.shot_timer > 0) {
      --it.shot_timer;
      return;
    }
    it.shot_timer = kSubReload;
    enemy_bullets.push_back({it.x, it.y, it.right});
  }

  void move_enemy_bullets() {
    for (size_t i = enemy_bullets.size(); i-- > 0;) {
      SeaObject& it = enemy_bullets[i];
      if (on_sub(it)) terminal = true;
      it.advance();
      if (it.off_board()) {
        enemy_bullets.erase(enemy_bullets.begin() + static_cast<int64_t>(i));
      } else if (on_sub(it)) {
        terminal = true;
      }
    }
  }

  // Air lasts for 200 frames under water; surfacing without a diver is fatal.
  void breathe() {
    if (oxygen <= 0) terminal = true;
    if (y > 0) {
      --oxygen;
      surfaced = false;
    } else if (!surfaced) {
      if (aboard == 0) {
        terminal = true;
      } else {
        surface();
      }
    }
  }

  void surface() {
    surfaced = true;
    // Six divers bring up to ten points, by the air that is left.
    if (aboard == kSeats) {
      aboard = 0;
      const auto points = oxygen * 10 / kFullTank;
      reward += static_cast<float>(points);
    }
    oxygen = kFullTank;
    --aboard;  // after a full load too: the next surfacing is then free
    if (!ramping || (spawn_speed <= 1 && move_speed <= 2)) return;
    if (move_speed > 2 && ramp_index % 2 != 0) --move_speed;
    if (spawn_speed > 1) --spawn_speed;
    ++ramp_index;
  }

  void paint_with_trail(ObservationChannels& to, const Swimmers& swimmers, int32_t channel) const {
    for (const SeaObject& it : swimmers) {
      to.set(channel, it.y, it.x);
      to.set_on_board(3, it.y, it.x + (it.right ? -1 : 1));
    }
  }

  void paint(ObservationChannels to) const {
    to.set(0, y, x);
    to.set_on_board(1, y, x + (facing_right ? -1 : 1));
    for (int32_t c = 0; c < std::max(0, oxygen) * 10 / kFullTank; ++c) to.set(7, 9, c);
    for (int32_t c = 9 - aboard; c < 9; ++c) to.set(8, 9, c);
    for (const SeaObject& it : bullets) to.set(2, it.y, it.x);
    for (const SeaObject& it : enemy_bullets) to.set_on_board(4, it.y, it.x);
    paint_with_trail(to, fish, 5);
    paint_with_trail(to, submarines, 6);
    paint_with_trail(to, divers, 9);
  }

  Json state() const {
    return Json::object({{"oxygen", oxygen},
                         {"diver_count", aboard},
                         {"sub_x", x},
                         {"sub_y", y},
                         {"sub_or", facing_right},
                         {"f_bullets", swimmers_json(bullets, 0)},
                         {"e_bullets", swimmers_json(enemy_bullets, 0)},
                         {"e_fish", swimmers_json(fish, 1)},
                         {"e_subs", swimmers_json(submarines, 2)},
                         {"divers", swimmers_json(divers, 1)},
                         {"e_spawn_speed", spawn_speed},
                         {"e_spawn_timer", enemy_timer},
                         {"d_spawn_timer", diver_timer},
                         {"move_speed", move_speed},
                         {"ramp_index", ramp_index},
                         {"shot_timer", shot_timer},
                         {"surface", surfaced},
                         {"terminal", terminal}});
  }

  void set_state(const Json& state) {
    oxygen = int_of(state, "oxygen", -kMostCount, kFullTank);
    aboard = int_of(state, "diver_count", -kMostCount, kSeats);
    x = place_of(state, "sub_x");
    y = int_of(state, "sub_y", 0, 8);
    facing_right = state.at("sub_or").as_bool();
    bullets = read_swimmers(state.at("f_bullets"));
    enemy_bullets = read_swimmers(state.at("e_bullets"));
    fish = read_swimmers(state.at("e_fish"));
    submarines = read_swimmers(state.at("e_subs"));
    divers = read_swimmers(state.at("divers"));
    spawn_speed = int_of(state, "e_spawn_speed");
    enemy_timer = int_of(state, "e_spawn_timer");
    diver_timer = int_of(state, "d_spawn_timer");
    move_speed = int_of(state, "move_speed");
    ramp_index = int_of(state, "ramp_index");
    shot_timer = int_of(state, "shot_timer");
    surfaced = state.at("surface").as_bool();
    terminal = state.at("terminal").as_bool();
  }

  bool ramping;
  int32_t oxygen = kFullTank, aboard = 0, x = 5, y = 0;
  bool facing_right = false;
  Swimmers bullets, enemy_bullets, fish, submarines, divers;
  int32_t spawn_speed = kEnemySpawn, enemy_timer = kEnemySpawn, diver_timer = kDiverSpawn;
  int32_t move_speed = kEnemySpeed, ramp_index = 0, shot_timer = 0;
  bool surfaced = true;
  bool terminal = false;
  float reward = 0;  // of the step under way
};

}  // namespace

extern const EnvironmentDef kSeaquest = {
    .name = "MinAtar/Seaquest-v0",
    .summary = "shoot, gather divers, mind the oxygen",
    .source = "Young, Tian 2019 (MinAtar)",
    .threshold = kNoThreshold,
    .make = make_copies<MinAtar<Seaquest>>,
    .draw = draw_channels,
};

}  // namespace trainyard::rl
