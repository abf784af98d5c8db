#include "rl/agents/runs_view.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::report {
namespace {

using Path = std::filesystem::path;

// Returns of 10 and 20 times the seed, an evaluation at the end.
Path make_rl_run(const TemporaryFolder& folder, const std::string& agent, int seed,
                 double learning_rate = 0.1) {
  Path directory = folder / fmt::format("{}-{}-{}", agent, learning_rate, seed);
  std::filesystem::create_directories(directory);
  write_file(directory / "config.yaml",
             fmt::format("env: CartPole-v1\nagent: {}\nseed: {}\nbatch: 64\nmodel: auto\n"
                         "learning_rate: {}\n",
                         agent, seed, learning_rate));
  std::string lines;
  for (const int step : {1, 2}) {
    lines += fmt::format(
        "{{\"step\":{},\"seconds\":{},\"episodes\":7,\"updates\":{},\"return\":{},\"loss\":0.5}}\n",
        100 * step, step * seed, 10 * step, 10 * step * seed);
  }
  lines += fmt::format("{{\"step\":200,\"seconds\":{},\"evaluation\":{}}}\n", 2 * seed, 77 * seed);
  write_file(directory / "metrics.jsonl", lines);
  return directory;
}

const Chart& chart_of(const std::vector<Chart>& charts, std::string_view title) {
  const auto found = std::ranges::find(charts, title, &Chart::title);
  TY_REQUIRE(found != charts.end(), "no chart '{}'", title);
  return *found;
}

TEST(RlRuns, SeedsAreALineWithABand) {
  const TemporaryFolder folder("rl");
  const std::vector<RlGroup> groups = {
      {"dqn", {make_rl_run(folder, "dqn", 1), make_rl_run(folder, "dqn", 3)}}};
  const std::vector<Chart> charts = rl_charts(groups);
  const Chart& returns = chart_of(charts, "Return in training, over the last 100 episodes");
  ASSERT_EQ(returns.series.size(), 1U);
  ASSERT_EQ(returns.series[0].points.size(), 2U);
  const ChartPoint& last = returns.series[0].points[1];
  EXPECT_EQ(last.x, 200);
  EXPECT_EQ(last.y, 40);
  EXPECT_EQ(last.low, 20);
  EXPECT_EQ(last.high, 60);
  // Seconds of different runs have no mean.
  EXPECT_EQ(chart_of(charts, "Return in training against time").series.size(), 2U);
  // One evaluation is no line, and there are no Q-values.
  EXPECT_EQ(charts.size(), 3U);
}

TEST(RlRuns, AgentsAreLinesOfTheirOwn) {
  const TemporaryFolder folder("rl");
  const std::vector<Path> directories = {
      make_rl_run(folder, "dqn", 1), make_rl_run(folder, "per", 1), make_rl_run(folder, "dqn", 2)};
  const Document document = rl_runs_document(directories);
  const std::string text = render(document, Format::kText);
  for (const char* piece : {"3 runs of reinforcement learning", "CartPole-v1", "77.00", "154.00",
                            "Runs that differ in their seed alone", "● dqn   ○ per"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
  EXPECT_EQ(document.data.at("runs").items()[2].at("evaluation").as_number(), 154);
}

TEST(RlRuns, SettingsOfOneAgentAreToldApartByTheirRuns) {
  const TemporaryFolder folder("rl");
  const std::vector<Path> directories = {make_rl_run(folder, "dqn", 1, 0.1),
                                         make_rl_run(folder, "dqn", 1, 0.2)};
  const std::string text = render(rl_runs_document(directories), Format::kText);
  EXPECT_NE(text.find("● dqn-0.1-1   ○ dqn-0.2-1"), std::string::npos) << text;
  EXPECT_NE(text.find("learning_rate"), std::string::npos) << text;
}

TEST(RlRuns, OthersAreRefused) {
  const TemporaryFolder folder("rl");
  const Path classifier = folder / "classifier";
  std::filesystem::create_directories(classifier);
  write_file(classifier / "config.yaml", "model: lenet5\nbatch: 32\n");
  EXPECT_FALSE(is_rl_run(classifier));
  const std::vector<Path> mixed = {make_rl_run(folder, "dqn", 1), classifier};
  EXPECT_TRUE(is_rl_run(mixed[0]));
  EXPECT_NE(message_of([&] { rl_runs_document(mixed); }).find("report them apart"),
            std::string::npos);
  write_file(mixed[0] / "metrics.jsonl", "");
  EXPECT_NE(message_of([&] { rl_runs_document(std::span(mixed).first(1)); }).find("no step"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::report
