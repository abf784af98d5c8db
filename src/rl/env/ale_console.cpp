// The Arcade Learning Environment, where the build found it (find_package(ale)).
#include "base/error.h"
#include "rl/env/atari.h"

#ifdef TY_WITH_ALE
#include <ale/ale_interface.hpp>
#include <algorithm>
#include <filesystem>
#endif

namespace trainyard::rl {

#ifdef TY_WITH_ALE
namespace {

class AleConsole final : public Console {
 public:
  AleConsole(const std::string& rom, double sticky, uint64_t seed) {
    console_.setInt("random_seed", static_cast<int>(seed & 0x7fffffff));
    console_.setFloat("repeat_action_probability", static_cast<float>(sticky));
    console_.loadROM(rom);
    actions_ = console_.getMinimalActionSet();
    look();
  }

  void reset() override {
    console_.reset_game();
    look();
  }
  double act(int32_t action) override {
    const auto reward = static_cast<double>(console_.act(actions_.at(static_cast<size_t>(action))));
    look();
    return reward;
  }
  bool game_over() const override { return console_.game_over(); }
  int64_t lives() const override { return lives_; }
  std::span<const uint8_t> screen() const override { return screen_; }
  int64_t height() const override { return static_cast<int64_t>(console_.getScreen().height()); }
  int64_t width() const override { return static_cast<int64_t>(console_.getScreen().width()); }
  int64_t actions() const override { return static_cast<int64_t>(actions_.size()); }
  int32_t fire() const override {
    const auto found = std::find(actions_.begin(), actions_.end(), ale::PLAYER_A_FIRE);
    return found == actions_.end() ? -1 : static_cast<int32_t>(found - actions_.begin());
  }

 private:
  void look() {
    console_.getScreenGrayscale(screen_);
    lives_ = console_.lives();
  }

  ale::ALEInterface console_;
  ale::ActionVect actions_;
  std::vector<unsigned char> screen_;
  int64_t lives_ = 0;
};

}  // namespace

std::unique_ptr<Environment> make_ale(const std::string& rom, double sticky, int64_t copies) {
  TY_REQUIRE(std::filesystem::is_regular_file(rom), "`env` ale:{}: there is no such ROM file", rom);
  return make_atari(
      "ale:" + std::filesystem::path(rom).stem().string(),
      [rom, sticky](uint64_t seed) { return std::make_unique<AleConsole>(rom, sticky, seed); },
      copies);
}
#else
std::unique_ptr<Environment> make_ale(const std::string& rom, double /*sticky*/,
                                      int64_t /*copies*/) {
  throw_error(
      "`env` ale:{}: this program was built without the Arcade Learning Environment; install it "
      "(with its CMake package 'ale') and build again, or use exec:COMMAND",
      rom);
}
#endif

}  // namespace trainyard::rl
