#include "cluster/predict/spread.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace trainyard::predict {
namespace {

Stack stack_of(std::string id, std::string family, bool engine) {
  Stack stack;
  stack.id = std::move(id);
  stack.family = std::move(family);
  stack.engine = engine;
  return stack;
}

Measurement row_of(std::string stack, int64_t batch) {
  Measurement row;
  row.framework = std::move(stack);
  row.device = "v100";
  row.model = "resnet50";
  row.batch_per_gpu = batch;
  return row;
}

TEST(FamilySpread, ComparesFamiliesOnTheSameThing) {
  Catalog catalog = Catalog::built_in();
  catalog.replace(stack_of("one", "a", false));
  catalog.replace(stack_of("two", "b", false));
  catalog.replace(stack_of("three", "c", true));
  // Batch 8 was measured by three families, 16 by one alone, and twice.
  const std::array rows = {row_of("one", 8), row_of("two", 8), row_of("three", 8),
                           row_of("one", 16), row_of("one", 16)};
  const std::array<double, 5> measured = {100, 200, 400, 50, 60};
  const std::array<const char*, 5> families = {"a", "b", "c", "a", "a"};
  std::vector<Score> scores;
  for (size_t i = 0; i < rows.size(); ++i) {
    scores.push_back({.row = &rows[i],
                      .measured = measured[i],
                      .predicted = measured[i] * 1.5,
                      .family = families[i]});
  }
  const FamilySpread all = family_spread(scores, catalog, false);
  EXPECT_EQ(all.configurations, 1);
  EXPECT_EQ(all.rows, 3);
  // 100 for all: 0, 1/2 and 3/4 off; 200 would be 1, 0 and 1/2.
  EXPECT_NEAR(all.best, 1.25 / 3, 1e-12);
  // sqrt(200 * 400), sqrt(100 * 400) and sqrt(100 * 200).
  EXPECT_NEAR(all.others, (std::sqrt(8.0) - 1 + 0 + 1 - std::sqrt(2.0) / 4) / 3, 1e-12);
  EXPECT_NEAR(all.others_median, 1 - std::sqrt(2.0) / 4, 1e-12);
  EXPECT_NEAR(all.model, 0.5, 1e-12);
  // An engine is not compared with what is none.
  const FamilySpread same = family_spread(scores, catalog, true);
  EXPECT_EQ(same.rows, 2);
  EXPECT_NEAR(same.others, (1 + 0.5) / 2, 1e-12);
}

TEST(FamilySpread, NothingToCompare) {
  EXPECT_EQ(family_spread({}, Catalog::built_in(), false).rows, 0);
}

// Family a is half and twice as fast as predicted, family b three times in both rows.
TEST(LevelSplit, TellsTheLevelOfAGroupFromTheRest) {
  const Measurement row = row_of("one", 8);
  const std::vector<Score> scores = {
      {.row = &row, .measured = 50, .predicted = 100, .family = "a"},
      {.row = &row, .measured = 200, .predicted = 100, .family = "a"},
      {.row = &row, .measured = 300, .predicted = 100, .family = "b"},
      {.row = &row, .measured = 600, .predicted = 200, .family = "b"}};
  const LevelSplit split = level_split(scores, [](const Score& s) { return s.family; });
  EXPECT_EQ(split.groups, 2);
  EXPECT_NEAR(split.deviation, std::log(3) / 2, 1e-12);
  EXPECT_NEAR(split.levels, (0 + 0 + 2.0 / 3 + 2.0 / 3) / 4, 1e-12);
  // Half the predicted speed is right once and a quarter the other time.
  EXPECT_NEAR(split.rest, (0 + 0.75 + 0 + 0) / 4, 1e-12);
  EXPECT_EQ(level_split({}, [](const Score& s) { return s.family; }).groups, 0);
}

}  // namespace
}  // namespace trainyard::predict
