// MinAtar's Space Invaders: shoot the aliens before they land.
#include "rl/env/minatar.h"

namespace trainyard::rl {
namespace {

constexpr int32_t kSlowestMarch = 12;
constexpr int32_t kFastestMarch = 6;
constexpr int32_t kEnemyReload = 10;
constexpr int32_t kReload = 5;

struct SpaceInvaders {
  static constexpr const char* kName = "SpaceInvaders";
  // Cannon, alien, alien to the left, alien to the right, friendly bullet, enemy bullet.
  static constexpr int32_t kChannels = 6;
  static constexpr int32_t kMinimal[] = {kStay, kGoLeft, kGoRight, kFire};

  explicit SpaceInvaders(bool ramps) : ramping(ramps) {}

  void reset(EventStream& /*chance*/) {
    cannon = 5;
    friendly = {};
    hostile = {};
    form_aliens();
    direction = -1;
    interval = march_timer = kSlowestMarch;
    enemy_timer = kEnemyReload;
    ramp_index = shot_timer = 0;
    terminal = false;
  }

  void form_aliens() {
    aliens = {};
    for (size_t row = 0; row < 4; ++row) aliens[row] = 0b11111100;  // columns 2 … 7
  }

  Outcome play(int32_t action, EventStream& /*chance*/) {
    if (action == kFire && shot_timer == 0) {
      put(friendly, 9, cannon);
      shot_timer = kReload;
    }
    if (action == kGoLeft) cannon = step_within(cannon, -1, 0, 9);
    if (action == kGoRight) cannon = step_within(cannon, 1, 0, 9);
    // Bullets move one row: up and down the board.
    std::rotate(friendly.begin(), friendly.begin() + 1, friendly.end());
    friendly[9] = 0;
    std::rotate(hostile.begin(), hostile.end() - 1, hostile.end());
    hostile[0] = 0;
    // Before the aliens march: hit by a bullet or landed on.
    terminal = terminal || has(hostile, 9, cannon) || has(aliens, 9, cannon);
    if (march_timer == 0) march();
    if (enemy_timer == 0) {
      enemy_timer = kEnemyReload;
      enemy_fires();
    }
    const int32_t kills = remove_killed();
    if (shot_timer > 0) --shot_timer;
    --march_timer;
    --enemy_timer;
    if (count_aliens() == 0) begin_wave();
    return {.reward = static_cast<float>(kills), .terminated = terminal};
  }

  int32_t count_aliens() const {
    int32_t count = 0;
    for (const uint16_t row : aliens) count += __builtin_popcount(row);
    return count;
  }

  void march() {
    // Fewer aliens march faster.
    march_timer = std::min(count_aliens(), interval);
    uint32_t columns = 0;
    for (const uint16_t row : aliens) columns |= row;
    // At a wall they turn and come down a row instead of moving aside.
    if ((columns >> (direction < 0 ? 0 : 9) & 1) != 0) {
      direction = -direction;
      if (aliens[9] != 0) terminal = true;
      std::rotate(aliens.begin(), aliens.end() - 1, aliens.end());
    } else {
      for (uint16_t& row : aliens) {
        row = static_cast<uint16_t>(direction < 0 ? row >> 1 : row << 1);
      }
    }
    if (has(aliens, 9, cannon)) terminal = true;
  }

  // From the lowest alien of the column that is nearest to the cannon, the left one of two.
  void enemy_fires() {
    int32_t nearest = -1;
    int32_t lowest = 0;
    for (int32_t row = 0; row < kBoardSide; ++row) {
      for (int32_t column = 0; column < kBoardSide; ++column) {
        if (!has(aliens, row, column)) continue;
        const int32_t away = std::abs(column - cannon);
        const int32_t best = nearest < 0 ? 100 : std::abs(nearest - cannon);
        if (away < best || (away == best && column <= nearest)) {
          nearest = column;
          lowest = row;
        }
      }
    }
    if (nearest >= 0) put(hostile, lowest, nearest);
  }

  int32_t remove_killed() {
    int32_t kills = 0;
    for (size_t row = 0; row < aliens.size(); ++row) {
      const auto hit = static_cast<uint16_t>(aliens[row] & friendly[row]);
      kills += __builtin_popcount(hit);
      aliens[row] = static_cast<uint16_t>(aliens[row] & ~hit);
      friendly[row] = static_cast<uint16_t>(friendly[row] & ~hit);
    }
    return kills;
  }

  void begin_wave() {
    if (interval > kFastestMarch && ramping) {
      --interval;
      ++ramp_index;
    }
    form_aliens();
  }

  void paint(ObservationChannels to) const {
    to.set(0, 9, cannon);
    to.set(1, aliens);
    to.set(direction < 0 ? 2 : 3, aliens);
    to.set(4, friendly);
    to.set(5, hostile);
  }

  Json state() const {
    return Json::object({{"pos", cannon},
                         {"f_bullet_map", board_json(friendly)},
                         {"e_bullet_map", board_json(hostile)},
                         {"alien_map", board_json(aliens)},
                         {"alien_dir", direction},
                         {"enemy_move_interval", interval},
                         {"alien_move_timer", march_timer},
                         {"alien_shot_timer", enemy_timer},
                         {"ramp_index", ramp_index},
                         {"shot_timer", shot_timer},
                         {"terminal", terminal}});
  }

  void set_state(const Json& state) {
    cannon = place_of(state, "pos");
    friendly = read_board(state.at("f_bullet_map"));
    hostile = read_board(state.at("e_bullet_map"));
    aliens = read_board(state.at("alien_map"));
    direction = int_of(state, "alien_dir");
    interval = int_of(state, "enemy_move_interval");
    march_timer = int_of(state, "alien_move_timer");
    enemy_timer = int_of(state, "alien_shot_timer");
    ramp_index = int_of(state, "ramp_index");
    shot_timer = int_of(state, "shot_timer");
    terminal = state.at("terminal").as_bool();
  }

  bool ramping;
  Board friendly{}, hostile{}, aliens{};
  int32_t cannon = 0, direction = -1, interval = 0, march_timer = 0, enemy_timer = 0;
  int32_t ramp_index = 0, shot_timer = 0;
  bool terminal = false;
};

}  // namespace

extern const EnvironmentDef kSpaceInvaders = {
    .name = "MinAtar/SpaceInvaders-v0",
    .summary = "shoot aliens before they land",
    .source = "Young, Tian 2019 (MinAtar)",
    .threshold = kNoThreshold,
    .make = make_copies<MinAtar<SpaceInvaders>>,
    .draw = draw_channels,
};

}  // namespace trainyard::rl
