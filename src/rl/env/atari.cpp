#include "rl/env/atari.h"

#include <algorithm>
#include <cmath>

namespace trainyard::rl {
namespace {

constexpr int64_t kSide = 84;
// Preprocessing as in Mnih et al. 2015: the maximum of two frames, 84 x 84, four pictures, actions
// repeated four times, up to 30 idle frames at the start.
constexpr int64_t kPictures = 4;  // of an observation
constexpr int64_t kFrames = 4;    // of a step
constexpr int64_t kMostIdle = 30;
constexpr int64_t kTimeLimit = 27000;  // half an hour of play

// How much of source pixels [first, first + shares.size()) a pixel of the smaller picture covers.
struct PixelWeights {
  int64_t first = 0;
  std::vector<double> shares;
};

// Area averaging. The small tolerance keeps a border that is a whole number from reaching into the
// next pixel by rounding.
std::vector<PixelWeights> covers(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<PixelWeights> all(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double begin = static_cast<double>(i) * scale;
    const double end = begin + scale;
    PixelWeights& cover = all[static_cast<size_t>(i)];
    cover.first = static_cast<int64_t>(begin);
    for (int64_t k = cover.first; k < from && static_cast<double>(k) < end - 1e-9; ++k) {
      const auto at = static_cast<double>(k);
      cover.shares.push_back((std::min(end, at + 1) - std::max(begin, at)) / scale);
    }
  }
  return all;
}

class AtariGame {
 public:
  AtariGame(std::unique_ptr<Console> console, EventStream chance)
      : console_(std::move(console)),
        chance_(chance),
        pictures_(static_cast<size_t>(kPictures * kSide * kSide)) {}

  // After a lost life the game goes on where it is; only a game over begins anew. To the learner
  // either is the end of an episode.
  void begin() {
    if (fresh_ || console_->game_over()) {
      restart();
    } else {
      console_->act(0);
    }
    // Some games wait for the fire button.
    if (console_->fire() >= 0) console_->act(console_->fire());
    if (console_->game_over()) restart();
    fresh_ = false;
    steps_ = 0;
    lives_ = console_->lives();
    const std::span<const uint8_t> screen = console_->screen();
    before_.assign(screen.begin(), screen.end());
    for (int64_t i = 0; i < kPictures; ++i) take_picture();
  }

  Outcome step(int32_t action) {
    double reward = 0;
    for (int64_t i = 0; i < kFrames && !console_->game_over(); ++i) {
      const std::span<const uint8_t> screen = console_->screen();
      before_.assign(screen.begin(), screen.end());
      reward += console_->act(action);
    }
    take_picture();
    // A lost life ends the episode for the learner (Mnih et al. 2015).
    const bool dead = console_->lives() < lives_ || console_->game_over();
    lives_ = console_->lives();
    return {.reward = static_cast<float>(reward),
            .terminated = dead,
            .truncated = ++steps_ >= kTimeLimit};
  }

  void observe(std::span<float> to) const {
    std::copy(pictures_.begin(), pictures_.end(), to.begin());
  }
  int64_t steps() const { return steps_; }
  EventStream& chance() { return chance_; }

 private:
  // Chance comes from here alone: the console itself is deterministic unless actions are sticky.
  void restart() {
    console_->reset();
    for (int64_t left = chance_.between(1, kMostIdle + 1); left > 0; --left) {
      console_->act(0);
      if (console_->game_over()) console_->reset();
    }
  }

  // The brighter of the last two frames: consoles draw some things in every other one.
  void take_picture() {
    const std::span<const uint8_t> screen = console_->screen();
    for (size_t i = 0; i < screen.size(); ++i) before_[i] = std::max(before_[i], screen[i]);
    constexpr auto kPixels = static_cast<size_t>(kSide * kSide);
    std::copy(pictures_.begin() + kPixels, pictures_.end(), pictures_.begin());
    shrink_picture(before_, console_->height(), console_->width(), kSide,
                   std::span(pictures_).last(kPixels));
  }

  std::unique_ptr<Console> console_;
  EventStream chance_;
  std::vector<uint8_t> before_;    // the frame before the present one
  std::vector<uint8_t> pictures_;  // oldest first
  int64_t lives_ = 0;
  int64_t steps_ = 0;
  bool fresh_ = true;
};

class AtariEnvironment final : public Environment {
 public:
  AtariEnvironment(const EnvSpec& spec, StartConsole start, int64_t copies)
      : Environment(spec, copies), start_(std::move(start)), size_(spec.observation_size()) {
    make_games(0);
  }

  void reset(uint64_t seed, std::span<float> observations) override {
    make_games(seed);
    for (int64_t i = 0; i < copies(); ++i) begin_episode(i, row(observations, i));
  }

  void step(std::span<const int32_t> actions, std::span<float> observations,
            std::span<Outcome> outcomes) override {
    for (size_t i = 0; i < games_.size(); ++i) {
      outcomes[i] = games_[i].step(actions[i]);
      games_[i].observe(row(observations, static_cast<int64_t>(i)));
    }
  }

  void begin_episode(int64_t copy, std::span<float> observation) override {
    game(copy).begin();
    game(copy).observe(observation);
  }

  // Nothing to save: a resumed run begins new episodes.
  Json state(int64_t /*copy*/) const override { return {}; }
  void set_state(int64_t /*copy*/, const Json& /*state*/, int64_t /*steps*/) override {
    throw_error("the state of {} lies in its console; it begins new episodes instead", spec().name);
  }
  int64_t episode_steps(int64_t copy) const override {
    return games_.at(static_cast<size_t>(copy)).steps();
  }
  void observe(int64_t copy, std::span<float> observation) const override {
    games_.at(static_cast<size_t>(copy)).observe(observation);
  }
  EventStream& chance(int64_t copy) override { return game(copy).chance(); }

 private:
  AtariGame& game(int64_t copy) { return games_.at(static_cast<size_t>(copy)); }
  std::span<float> row(std::span<float> all, int64_t copy) const {
    return all.subspan(static_cast<size_t>(copy * size_), static_cast<size_t>(size_));
  }
  void make_games(uint64_t seed) {
    games_.clear();
    for (int64_t i = 0; i < copies(); ++i) {
      // Seeds of neighboring copies must not be neighbors themselves.
      const uint64_t own = mix_bits(seed * 1000003 + static_cast<uint64_t>(i));
      games_.emplace_back(start_(own), EventStream(own, hash_text("atari")));
    }
  }

  StartConsole start_;
  int64_t size_;
  std::vector<AtariGame> games_;
};

}  // namespace

void shrink_picture(std::span<const uint8_t> from, int64_t height, int64_t width, int64_t side,
                    std::span<uint8_t> to) {
  const std::vector<PixelWeights> rows = covers(height, side);
  const std::vector<PixelWeights> columns = covers(width, side);
  // First along the rows, then across them.
  std::vector<double> narrow(static_cast<size_t>(height * side));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const PixelWeights& cover = columns[static_cast<size_t>(x)];
      double sum = 0;
      for (size_t k = 0; k < cover.shares.size(); ++k) {
        sum += cover.shares[k] * from[static_cast<size_t>(y * width + cover.first) + k];
      }
      narrow[static_cast<size_t>(y * side + x)] = sum;
    }
  }
  for (int64_t y = 0; y < side; ++y) {
    const PixelWeights& cover = rows[static_cast<size_t>(y)];
    for (int64_t x = 0; x < side; ++x) {
      double sum = 0;
      for (size_t k = 0; k < cover.shares.size(); ++k) {
        const auto source = cover.first + static_cast<int64_t>(k);
        sum += cover.shares[k] * narrow[static_cast<size_t>(source * side + x)];
      }
      to[static_cast<size_t>(y * side + x)] = static_cast<uint8_t>(std::lround(sum));
    }
  }
}

std::unique_ptr<Environment> make_atari(const std::string& name, const StartConsole& start,
                                        int64_t copies) {
  // Started once more only to ask for the number of actions.
  const auto first = start(0);
  const EnvSpec spec{.name = name,
                     .shape = {kPictures, kSide, kSide},
                     .actions = first->actions(),
                     .encoding = Encoding::kBytes,
                     .time_limit = kTimeLimit};
  return std::make_unique<AtariEnvironment>(spec, start, copies);
}

}  // namespace trainyard::rl
