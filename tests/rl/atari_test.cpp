// The preprocessing of Atari games on pictures that a console of our own shows.
#include "rl/env/atari.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "rl/agents/config.h"
#include "rl/agents/q_network.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kHeight = 168;
constexpr int64_t kWidth = 252;

// Frame n shows 10 n everywhere, and 255 in the upper half of odd frames; a reward of 1 a frame. A
// life ends with the frames `deaths` of a game, of which there are three.
class Flicker final : public Console {
 public:
  explicit Flicker(std::vector<std::string>& log, std::vector<int64_t> deaths = {})
      : log_(log), deaths_(std::move(deaths)), screen_(kHeight * kWidth) {}

  void reset() override {
    log_.emplace_back("reset");
    frame_ = 0;
    lives_ = 3;
    draw();
  }
  double act(int32_t action) override {
    log_.push_back(std::to_string(action));
    ++frame_;
    if (std::find(deaths_.begin(), deaths_.end(), frame_) != deaths_.end()) --lives_;
    draw();
    return 1;
  }
  bool game_over() const override { return lives_ == 0; }
  int64_t lives() const override { return lives_; }
  std::span<const uint8_t> screen() const override { return screen_; }
  int64_t height() const override { return kHeight; }
  int64_t width() const override { return kWidth; }
  int64_t actions() const override { return 3; }
  int32_t fire() const override { return 2; }

 private:
  void draw() {
    std::fill(screen_.begin(), screen_.end(), static_cast<uint8_t>(10 * (frame_ % 25)));
    if (frame_ % 2 == 1) std::fill_n(screen_.begin(), screen_.size() / 2, uint8_t{255});
  }

  std::vector<std::string>& log_;
  std::vector<int64_t> deaths_;
  std::vector<uint8_t> screen_;
  int64_t frame_ = 0;
  int64_t lives_ = 0;
};

TEST(Atari, SmallPicturesAreMeansOfAreas) {
  // Two pixels of six each way: the middle third of the area belongs to neither alone.
  const std::vector<uint8_t> from = {0,   30,  60,   //
                                     90,  120, 150,  //
                                     180, 210, 240};
  std::vector<uint8_t> to(4);
  shrink_picture(from, 3, 3, 2, to);
  // (0 + 30/2 + 90/2 + 120/4) / 2.25 and so on.
  EXPECT_EQ(to, (std::vector<uint8_t>{40, 80, 160, 200}));
  std::vector<uint8_t> halves(4);
  shrink_picture(std::vector<uint8_t>{1, 3, 5, 7, 9, 11, 13, 15}, 2, 4, 2, halves);
  EXPECT_EQ(halves, (std::vector<uint8_t>{2, 6, 10, 14}));
}

TEST(Atari, AStepIsFourFramesAndThePictureTheBrighterOfTheLastTwo) {
  std::vector<std::string> log;
  const auto game = make_atari(
      "flicker", [&](uint64_t) { return std::make_unique<Flicker>(log); }, 1);
  EXPECT_EQ(game->spec().shape, (Shape{4, 84, 84}));
  std::vector<float> seen(static_cast<size_t>(game->spec().observation_size()));
  log.clear();
  game->reset(7, seen);
  // Reset, 1 to 30 frames of nothing, fire.
  const auto idle = static_cast<int64_t>(log.size()) - 2;
  EXPECT_EQ(log.front(), "reset");
  EXPECT_EQ(log.back(), "2");
  EXPECT_GE(idle, 1);
  EXPECT_LE(idle, 30);
  const std::vector<float> first(seen.end() - 84 * 84, seen.end());
  const int32_t action = 1;
  Outcome outcome;
  game->step({&action, 1}, seen, {&outcome, 1});
  EXPECT_EQ(outcome.reward, 4);
  EXPECT_FALSE(outcome.ended());
  const int64_t frame = idle + 1 + 4;
  const float* newest = seen.data() + 3 * 84 * 84;
  EXPECT_EQ(newest[0], 255) << "one of any two frames is bright above";
  EXPECT_EQ(newest[84 * 84 - 1], static_cast<float>(10 * std::max(frame % 25, (frame - 1) % 25)));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), seen.begin() + 2 * 84 * 84))
      << "the pictures before it move up";
}

TEST(Atari, ALifeEndsAnEpisodeAndTheLastOneTheGame) {
  std::vector<std::string> log;
  const auto game = make_atari(
      "flicker",
      [&](uint64_t) {
        return std::make_unique<Flicker>(log, std::vector<int64_t>{40, 60, 70});
      },
      1);
  std::vector<float> seen(static_cast<size_t>(game->spec().observation_size()));
  game->reset(1, seen);
  const int32_t action = 0;
  std::vector<int64_t> resets;
  for (int life = 0; life < 3; ++life) {
    Outcome outcome;
    for (int step = 0; step < 20 && !outcome.ended(); ++step) {
      game->step({&action, 1}, seen, {&outcome, 1});
    }
    EXPECT_TRUE(outcome.terminated) << life;
    EXPECT_FALSE(outcome.truncated);
    log.clear();
    game->begin_episode(0, seen);
    resets.push_back(std::count(log.begin(), log.end(), "reset"));
  }
  EXPECT_EQ(resets, (std::vector<int64_t>{0, 0, 1}));
}

TEST(Atari, TheNetworkForItsPicturesIsThatOf2015) {
  const EnvSpec spec{.name = "x", .shape = {4, 84, 84}, .actions = 6, .encoding = Encoding::kBytes};
  const Graph graph = make_q_network(preset_config("ale:pong.bin", "dqn-2015"), spec, 1);
  int64_t parameters = 0;
  for (const ValueId id : graph.initializers()) {
    if (graph.value(id).constant == nullptr)
      parameters += graph.value(id).type.shape.num_elements();
  }
  // 8*8*4*32+32, 4*4*32*64+64, 3*3*64*64+64, 3136*512+512, 512*6+6.
  EXPECT_EQ(parameters, 8224 + 32832 + 36928 + 1606144 + 3078);
}

}  // namespace
}  // namespace trainyard::rl
