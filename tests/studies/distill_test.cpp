#include "studies/distill.h"

#include <gtest/gtest.h>

#include "studies/selection.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::recipes {
namespace {

ScoreTable small_scores() {
  // Four pictures, three classes.
  return {.classes = 3,
          .values = {0.6F, 0.3F, 0.1F, 0.5F, 0.4F, 0.1F, 0.2F, 0.7F, 0.1F, 0.4F, 0.3F, 0.3F}};
}

TEST(Selection, EachClassTakesThePicturesWithTheHighestScores) {
  const std::vector<Choice> one = choose_pictures(small_scores(), 2, 1);
  EXPECT_EQ(one, (std::vector<Choice>{{0, 0, 0.6F}, {1, 0, 0.5F}, {2, 1, 0.7F}}));
  // With two classes a picture stands in both; of equal scores the earlier class counts.
  const std::vector<Choice> two = choose_pictures(small_scores(), 2, 2);
  EXPECT_EQ(two, (std::vector<Choice>{{0, 0, 0.6F}, {1, 0, 0.5F}, {2, 1, 0.7F}, {1, 1, 0.4F}}));
  EXPECT_EQ(choose_pictures(small_scores(), 4, 3).size(), 12U);
  EXPECT_NE(message_of([] { choose_pictures(small_scores(), 5, 1); }).find("4 unlabeled"),
            std::string::npos);
  EXPECT_NE(message_of([] { choose_pictures(small_scores(), 1, 4); }).find("3 classes"),
            std::string::npos);
}

DistillConfig small_study() {
  DistillConfig config;
  config.training.model = "lenet5";
  config.training.data = "synthetic:1x28x28,classes=4,size=400";
  config.training.batch = 10;
  config.training.epochs = 2;
  config.training.threads = 1;
  config.labeled = 0.1;
  config.pretrain_steps = 10;
  return config;
}

TEST(Distill, TrainsOnceAndGoesOnFromWhatIsThere) {
  const TemporaryFolder folder("distill");
  const DistillConfig config = small_study();
  int64_t steps = 0;
  int64_t stop_at = 25;
  StudyHooks hooks;
  hooks.on_step = [&](const train::StepReport&) { ++steps; };
  hooks.should_stop = [&] { return steps == stop_at; };
  const auto path = folder.path() / "study";
  // 40 labeled pictures are 4 steps an epoch, so this stops inside the second training or so.
  EXPECT_THROW(distill(config, {10, 40}, {1, 2}, path, hooks), Failure);
  stop_at = -1;
  const DistillResult result = distill(config, {10, 40}, {1, 2}, path, hooks);
  EXPECT_EQ(result.labeled, 40);
  EXPECT_EQ(result.unlabeled, 360);
  EXPECT_EQ(result.teacher_top1, result.supervised_top1);
  ASSERT_EQ(result.cells.size(), 4U);
  for (const DistillCell& cell : result.cells) {
    EXPECT_LE(cell.pictures, cell.chosen);
    EXPECT_GT(cell.right, 0);
    EXPECT_FALSE(cell.shown.empty());
  }
  EXPECT_EQ(result.cells[3].k, 40);
  EXPECT_EQ(result.cells[3].p, 2);
  // Nothing is trained again, and the result is the same.
  const int64_t before = steps;
  const DistillResult again = distill(config, {10, 40}, {1, 2}, path, hooks);
  EXPECT_EQ(steps, before);
  EXPECT_EQ(again.cells[3].top1, result.cells[3].top1);
  // An uninterrupted study gives the same numbers.
  const DistillResult whole = distill(config, {10, 40}, {1, 2}, folder.path() / "whole", hooks);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(whole.cells[i].top1, result.cells[i].top1) << i;
  DistillConfig other = config;
  other.labeled = 0.2;
  EXPECT_NE(message_of([&] { distill(other, {10}, {1}, path, hooks); }).find("other settings"),
            std::string::npos);
}

TEST(Distill, SoftTargetsAreTheTeachersProbabilities) {
  const TemporaryFolder folder("distill");
  DistillConfig config = small_study();
  config.targets = "soft";
  config.temperature = 2;
  const DistillResult result = distill(config, {20}, {1}, folder.path() / "soft", {});
  EXPECT_GT(result.cells[0].top1, 0.2);
}

TEST(Distill, RefusesWhatMakesNoSense) {
  const TemporaryFolder folder("distill");
  const auto problem = [&](const std::function<void(DistillConfig&)>& change, int64_t k = 10,
                           int64_t p = 1) {
    DistillConfig config = small_study();
    change(config);
    return message_of([&] { distill(config, {k}, {p}, folder.path() / "bad", {}); });
  };
  const auto nothing = [](DistillConfig&) {};
  EXPECT_NE(problem(nothing, 361).find("360 unlabeled"), std::string::npos);
  EXPECT_NE(problem(nothing, 10, 5).find("4 classes"), std::string::npos);
  EXPECT_NE(problem([](auto& c) { c.labeled = 0; }).find("labeled"), std::string::npos);
  EXPECT_NE(problem([](auto& c) { c.labeled = 0.001; }).find("cannot be taken"), std::string::npos);
  EXPECT_NE(problem([](auto& c) { c.labeled = 0.005; }).find("without any"), std::string::npos);
  EXPECT_NE(problem([](auto& c) { c.targets = "warm"; }).find("hard or soft"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "bad"));
}

}  // namespace
}  // namespace trainyard::recipes
