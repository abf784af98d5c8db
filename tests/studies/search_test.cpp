#include "studies/search/search.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "studies/search/view.h"
#include "support/error_message.h"

namespace trainyard::recipes {
namespace {

TEST(SearchSpace, RangesAndChoicesAreDrawnEvenly) {
  const std::vector<Dimension> space =
      parse_space("learning-rate=log:1e-4..1e-1,batch=16..64,optimizer=sgd|adamw|lion");
  ASSERT_EQ(space.size(), 3U);
  EXPECT_EQ(space[0].setting, "learning_rate");
  EXPECT_EQ(space[0].at(0), "0.0001");
  EXPECT_EQ(space[0].at(1.0 / 3), "0.001");
  EXPECT_EQ(space[1].at(0.5), "40");
  EXPECT_NEAR(space[0].share_of("0.01"), 2.0 / 3, 1e-9);
  EXPECT_EQ(space[2].share_of("lion"), 1);
  std::set<std::string> optimizers;
  int low = 0;
  for (int64_t trial = 1; trial <= 200; ++trial) {
    const Point point = draw_point(space, 5, trial);
    EXPECT_EQ(point, draw_point(space, 5, trial));
    optimizers.insert(point[2]);
    low += std::stod(point[0]) < 1e-3 ? 1 : 0;
    const train::TrainConfig config = with_point({}, space, point);
    EXPECT_EQ(config.optimizer, point[2]);
    EXPECT_EQ(config.learning_rate, std::stod(point[0]));
    EXPECT_EQ(config.batch, std::stoll(point[1]));
  }
  EXPECT_EQ(optimizers.size(), 3U);
  EXPECT_NEAR(low, 200.0 / 3, 25) << "a third of the ratios";
}

TEST(SearchSpace, GridsHaveEveryCombination) {
  const std::vector<Dimension> space = parse_space("momentum=0..0.8,batch=16|32");
  const std::vector<Point> grid = grid_of(space, 3, 6);
  ASSERT_EQ(grid.size(), 6U);
  EXPECT_EQ(grid[0], (Point{"0", "16"}));
  EXPECT_EQ(grid[5], (Point{"0.8", "32"}));
  EXPECT_NE(message_of([&] { grid_of(space, 3, 5); }).find("more points than the 5 trials"),
            std::string::npos);
}

TEST(SearchSpace, SaysWhatIsWrong) {
  const auto has = [](std::string_view space, std::string_view part) {
    const std::string message = message_of([&] { parse_space(space); });
    EXPECT_NE(message.find(part), std::string::npos) << space << ": " << message;
  };
  has("learning-rat=1..2", "Did you mean learning-rate?");
  has("lr", "is not NAME=VALUES");
  has("learning-rate=2..1", "ends before it begins");
  has("learning-rate=log:0..1", "begins above 0");
  has("learning-rate=a..b", "is no number");
  has("optimizer=1..2", "choices A|B");
  has("batch=1..2,batch=3..4", "is there twice");
  has("epochs=1..9", "give it as a flag");
  const std::vector<Dimension> space = parse_space("momentum=0.5..3");
  EXPECT_NE(message_of([&] { with_point({}, space, {"2"}); }).find("momentum is 2"),
            std::string::npos);
}

TEST(Asha, RungsDivideTheEpochs) {
  EXPECT_EQ(rungs_of(27, 3), (std::vector<int64_t>{1, 3, 9, 27}));
  EXPECT_EQ(rungs_of(10, 3), (std::vector<int64_t>{1, 3, 10}));
  EXPECT_EQ(rungs_of(1, 3), (std::vector<int64_t>{1}));
}

// Plays trainings of which the first is best: what is given up, and how much is trained.
TEST(Asha, TheBestGoOnAndTheOthersStop) {
  const std::vector<int64_t> rungs = rungs_of(9, 3);
  std::vector<TrialProgress> trials(9);
  std::vector<int64_t> epochs(trials.size(), 0);
  while (const auto next = next_training(trials, rungs, 3)) {
    TrialProgress& trial = trials[next->trial];
    ASSERT_LT(trial.scores.size(), rungs.size());
    EXPECT_EQ(next->epochs, rungs[trial.scores.size()]);
    trial.scores.push_back(-static_cast<double>(next->trial));
    epochs[next->trial] = next->epochs;
  }
  // A third of nine goes on to the third epoch, a third of these to the end.
  EXPECT_EQ(epochs, (std::vector<int64_t>{9, 3, 3, 1, 1, 1, 1, 1, 1}));
}

TEST(Asha, WaitsForWhatRunsAndNeverForWhatIsClosed) {
  const std::vector<int64_t> rungs = {1, 3};
  std::vector<TrialProgress> trials(1);
  trials[0].running = true;
  EXPECT_FALSE(next_training(trials, rungs, 3));
  trials[0].running = false;
  trials[0].scores = {0.5};
  const auto up = next_training(trials, rungs, 3);
  ASSERT_TRUE(up) << "alone, it is the best";
  EXPECT_EQ(up->epochs, 3);
  trials[0].closed = true;
  EXPECT_FALSE(next_training(trials, rungs, 3));
}

TEST(SearchView, RanksTrialsAndNamesTheBest) {
  SearchResult result{.space = parse_space("learning-rate=log:0.001..0.1"), .trials = {}};
  result.score = "top1";
  result.epochs = 2;
  result.trials.push_back({.number = 1, .point = {"0.001"}, .scores = {0.5, 0.6}});
  result.trials.push_back({.number = 2, .point = {"0.1"}, .scores = {}, .failed = true});
  result.trials.push_back({.number = 3, .point = {"0.01"}, .scores = {0.9, 0.8}});
  result.best = 2;
  const report::Document document = cli::search_document(result, "runs/s");
  const std::string text = report::render(document, report::Format::kText);
  EXPECT_NE(text.find("The best is trial 3, top-1: 90.00 %"), std::string::npos) << text;
  EXPECT_NE(text.find("failed"), std::string::npos) << text;
  EXPECT_EQ(document.data.at("command").as_string(),
            "trainyard train --config runs/s/trial-3/config.yaml --stop-epoch 0");
  EXPECT_NE(report::render(document, report::Format::kHtml).find("learning-rate"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::recipes
