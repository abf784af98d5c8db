// MinAtar's Asterix: gather gold that crosses the board, avoid the enemies among it.
#include "rl/env/minatar.h"

namespace trainyard::rl {
namespace {

constexpr int32_t kLanes = 8;  // lane i is row i + 1
constexpr int32_t kRampEvery = 100;

struct Crossing {
  bool there = false;
  int32_t x = 0;
  bool right = false;
  bool gold = false;
};

struct Asterix {
  static constexpr const char* kName = "Asterix";
  static constexpr int32_t kChannels = 4;  // player, enemy, trail, gold
  static constexpr int32_t kMinimal[] = {kStay, kGoLeft, kGoUp, kGoRight, kGoDown};

  explicit Asterix(bool ramps) : ramping(ramps) {}

  void reset(EventStream& /*chance*/) {
    player_x = player_y = 5;
    lanes = {};
    spawn_speed = spawn_timer = 10;
    move_speed = move_timer = 5;
    ramp_timer = kRampEvery;
    ramp_index = 0;
    terminal = false;
  }

  Outcome play(int32_t action, EventStream& chance) {
    // The order of spawning, acting, meeting and moving decides rewards; it is MinAtar's.
    if (spawn_timer == 0) {
      spawn(chance);
      spawn_timer = spawn_speed;
    }
    if (action == kGoLeft) player_x = step_within(player_x, -1, 0, 9);
    if (action == kGoRight) player_x = step_within(player_x, 1, 0, 9);
    if (action == kGoUp) player_y = step_within(player_y, -1, 1, 8);
    if (action == kGoDown) player_y = step_within(player_y, 1, 1, 8);
    float reward = 0;
    for (int32_t lane = 0; lane < kLanes; ++lane) reward += meet(lane);
    if (move_timer == 0) {
      move_timer = move_speed;
      for (int32_t lane = 0; lane < kLanes; ++lane) reward += advance(lane);
    }
    --spawn_timer;
    --move_timer;
    ramp();
    return {.reward = reward, .terminated = terminal};
  }

  void spawn(EventStream& chance) {
    // Both draws are made even if no lane is open, so that the stream stays in step with MinAtar's.
    const bool right = chance.uniform() < 0.5;
    const bool gold = chance.uniform() < 1.0 / 3.0;
    const auto open = std::count_if(lanes.begin(), lanes.end(),
                                    [](const Crossing& crossing) { return !crossing.there; });
    if (open == 0) return;
    int64_t chosen = chance.between(0, open);
    // The chosen-th of the open lanes.
    for (Crossing& lane : lanes) {
      if (lane.there || chosen-- != 0) continue;
      lane = {.there = true, .x = right ? 0 : 9, .right = right, .gold = gold};
    }
  }

  // The reward for what the player meets in a lane.
  float meet(int32_t lane) {
    Crossing& it = lanes[static_cast<size_t>(lane)];
    if (!it.there || it.x != player_x || lane + 1 != player_y) return 0;
    if (!it.gold) {
      terminal = true;
      return 0;
    }
    it.there = false;
    return 1;
  }

  float advance(int32_t lane) {
    Crossing& it = lanes[static_cast<size_t>(lane)];
    if (!it.there) return 0;
    it.x += it.right ? 1 : -1;
    if (it.x >= 0 && it.x <= 9) return meet(lane);
    it.there = false;
    return 0;
  }

  void ramp() {
    // About every 100 frames faster: spawning each time, moving every other time.
    if (!ramping || (spawn_speed <= 1 && move_speed <= 1)) return;
    if (ramp_timer >= 0) {
      --ramp_timer;
      return;
    }
    if (move_speed > 1 && ramp_index % 2 != 0) --move_speed;
    if (spawn_speed > 1) --spawn_speed;
    ++ramp_index;
    ramp_timer = kRampEvery;
  }

  void paint(ObservationChannels to) const {
    to.set(0, player_y, player_x);
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      const Crossing& it = lanes[static_cast<size_t>(lane)];
      if (!it.there) continue;
      to.set(it.gold ? 3 : 1, lane + 1, it.x);
      to.set_on_board(2, lane + 1, it.x + (it.right ? -1 : 1));
    }
  }

  Json state() const {
    Json entities = Json::array();
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      const Crossing& it = lanes[static_cast<size_t>(lane)];
      entities.push_back(it.there ? Json(Json::Array{it.x, lane + 1, it.right, it.gold}) : Json());
    }
    return Json::object({{"player_x", player_x},
                         {"player_y", player_y},
                         {"entities", std::move(entities)},
                         {"shot_timer", 0},
                         {"spawn_speed", spawn_speed},
                         {"spawn_timer", spawn_timer},
                         {"move_speed", move_speed},
                         {"move_timer", move_timer},
                         {"ramp_timer", ramp_timer},
                         {"ramp_index", ramp_index},
                         {"terminal", terminal}});
  }

  void set_state(const Json& state) {
    player_x = place_of(state, "player_x");
    player_y = int_of(state, "player_y", 1, kLanes);
    lanes = {};
    const Json::Array& entities = state.at("entities").items();
    TY_REQUIRE(entities.size() == lanes.size(), "Asterix has {} lanes, found {}", lanes.size(),
               entities.size());
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (entities[lane].is_null()) continue;
      const Json::Array& it = entities[lane].items();
      TY_REQUIRE(it.size() == 4, "an entity is x, row, direction and gold, found {}",
                 entities[lane].dump(-1));
      lanes[lane] = {.there = true,
                     .x = int_within(it[0], "x of an entity", 0, kBoardSide - 1),
                     .right = it[2].as_bool(),
                     .gold = it[3].as_bool()};
    }
    spawn_speed = int_of(state, "spawn_speed");
    spawn_timer = int_of(state, "spawn_timer");
    move_speed = int_of(state, "move_speed");
    move_timer = int_of(state, "move_timer");
    ramp_timer = int_of(state, "ramp_timer");
    ramp_index = int_of(state, "ramp_index");
    terminal = state.at("terminal").as_bool();
  }

  bool ramping;
  int32_t player_x = 0, player_y = 0;
  std::array<Crossing, kLanes> lanes{};
  int32_t spawn_speed = 0, spawn_timer = 0, move_speed = 0, move_timer = 0;
  int32_t ramp_timer = 0, ramp_index = 0;
  bool terminal = false;
};

}  // namespace

extern const EnvironmentDef kAsterix = {
    .name = "MinAtar/Asterix-v0",
    .summary = "gather gold, avoid enemies",
    .source = "Young, Tian 2019 (MinAtar)",
    .threshold = kNoThreshold,
    .make = make_copies<MinAtar<Asterix>>,
    .draw = draw_channels,
};

}  // namespace trainyard::rl
