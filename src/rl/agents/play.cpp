#include "rl/agents/play.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "rl/agents/q_objective.h"
#include "rl/env/canvas.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kBarsWidth = 96;
constexpr int64_t kSheetColumns = 6;

// Bars from a common zero line, left to right.
void draw_bars(Canvas& canvas, double left, std::span<const float> values, double low, double high,
               int64_t marked) {
  const auto height = static_cast<double>(canvas.height());
  const double room = static_cast<double>(canvas.width()) - left;
  const double width = room / static_cast<double>(values.size());
  const double span = std::max(high - low, 1e-6);
  const auto y_of = [&](double value) { return height * (0.95 - 0.9 * (value - low) / span); };
  const double zero = y_of(std::clamp(0.0, low, high));
  canvas.fill(left, 0, left + 1, height, kSoft);
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = left + width * (static_cast<double>(i) + 0.15);
    const double y = y_of(static_cast<double>(values[i]));
    canvas.fill(x, std::min(y, zero), x + 0.7 * width, std::max(y, zero) + 1,
                static_cast<int64_t>(i) == marked ? kWarm : kAccent);
  }
}

void paste(const data::Image& from, int64_t left, int64_t top, Canvas& to) {
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      const auto at = static_cast<size_t>((y * from.width + x) * 3);
      to.set(left + x, top + y, {from.pixels[at], from.pixels[at + 1], from.pixels[at + 2]});
    }
  }
}

}  // namespace

// At most `longest` steps, as a policy may walk in circles.
PlayedEpisode play_episode(const std::string& environment, const MakePolicy& make_policy,
                           const PlayOptions& options) {
  const auto game = make_environment(environment, 1);
  const Policy policy = make_policy(1);
  std::vector<float> seen(static_cast<size_t>(game->spec().observation_size()));
  std::vector<float> values(static_cast<size_t>(game->spec().actions));
  EventStream explore(options.seed, hash_text("play"));
  PlayedEpisode episode;
  game->reset(options.seed, seen);
  Outcome outcome;
  double total = 0;
  while (!outcome.ended() && static_cast<int64_t>(episode.steps.size()) < options.longest) {
    policy(seen, values);
    PlayedStep step{.observation = seen, .values = values, .action = best_action(values)};
    if (explore.uniform() < options.epsilon) {
      step.action = static_cast<int32_t>(explore.between(0, game->spec().actions));
    }
    game->step({&step.action, 1}, seen, {&outcome, 1});
    step.reward = static_cast<double>(outcome.reward);
    total += step.reward;
    step.total = total;
    episode.steps.push_back(std::move(step));
  }
  episode.terminated = outcome.terminated;
  episode.truncated = outcome.truncated;
  return episode;
}

// Bars of all steps share one scale, so that pictures can be compared.
std::vector<data::Image> draw_episode(const std::string& environment,
                                      const PlayedEpisode& episode) {
  const bool known = !command_of(environment);
  const EnvironmentDef* def =
      known ? &find_environment(parse_environment(environment).game) : nullptr;
  float low = 0;
  float high = 0;
  for (const PlayedStep& step : episode.steps) {
    low = std::min(low, *std::min_element(step.values.begin(), step.values.end()));
    high = std::max(high, *std::max_element(step.values.begin(), step.values.end()));
  }
  std::vector<data::Image> pictures;
  for (const PlayedStep& step : episode.steps) {
    // An environment in another process has no picture; its observation is shown as bars.
    Canvas scene(kPictureSide, kPictureSide, kPaper);
    if (def != nullptr) {
      def->draw(scene, step.observation);
    } else {
      const auto [least, most] =
          std::minmax_element(step.observation.begin(), step.observation.end());
      draw_bars(scene, 0, step.observation, std::min(0.0F, *least), std::max(0.0F, *most), -1);
    }
    Canvas canvas(kPictureSide, kPictureSide + kBarsWidth, kPaper);
    paste(scene.image(), 0, 0, canvas);
    draw_bars(canvas, static_cast<double>(kPictureSide), step.values, static_cast<double>(low),
              static_cast<double>(high), step.action);
    pictures.push_back(canvas.image());
  }
  return pictures;
}

data::Image contact_sheet(std::span<const data::Image> pictures, int64_t count) {
  TY_REQUIRE(!pictures.empty() && count > 0, "a contact sheet needs at least one picture");
  const auto total = static_cast<int64_t>(pictures.size());
  const int64_t shown = std::min(count, total);
  const int64_t columns = std::min(kSheetColumns, shown);
  const int64_t rows = (shown + columns - 1) / columns;
  constexpr int64_t kGap = 6;
  const int64_t height = pictures[0].height + kGap;
  const int64_t width = pictures[0].width + kGap;
  Canvas sheet(rows * height + kGap, columns * width + kGap, {255, 255, 255});
  for (int64_t i = 0; i < shown; ++i) {
    // Evenly over the episode, the first and the last included.
    const int64_t which = shown == 1 ? 0 : i * (total - 1) / (shown - 1);
    paste(pictures[static_cast<size_t>(which)], kGap + i % columns * width,
          kGap + i / columns * height, sheet);
  }
  return sheet.image();
}

}  // namespace trainyard::rl
