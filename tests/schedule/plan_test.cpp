#include "schedule/plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/model.h"

namespace trainyard::schedule {
namespace {

TEST(Plan, MeetsDeadlineAndBudgetAndSaysWhatIsFastest) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return models::build_model(name); });
  PlanQuestion question{.model = "lenet5", .images = 60000, .epochs = 10};
  const Plan free = make_plan(question, catalog, networks);
  EXPECT_EQ(free.considered, static_cast<int64_t>(free.choices.size()));
  for (size_t i = 1; i < free.pareto.size(); ++i) {
    EXPECT_GT(free.pareto[i].hours, free.pareto[i - 1].hours);
    EXPECT_LT(free.pareto[i].cost_usd, free.pareto[i - 1].cost_usd);
  }
  ASSERT_TRUE(free.cheapest);
  question.budget_usd = 2 * free.cheapest->cost_usd;
  question.deadline_s = 3600 * free.cheapest->hours;
  const Plan bounded = make_plan(question, catalog, networks);
  ASSERT_FALSE(bounded.choices.empty());
  for (const PlanChoice& choice : bounded.choices) {
    EXPECT_LE(choice.cost_usd, question.budget_usd);
    EXPECT_LE(choice.hours * 3600, question.deadline_s);
    EXPECT_FALSE(choice.price_date.empty());
  }
  question.budget_usd = free.cheapest->cost_usd / 100;
  EXPECT_TRUE(make_plan(question, catalog, networks).choices.empty());
  question.clouds = {"AWZ"};
  EXPECT_THROW(make_plan(question, catalog, networks), Error);
}

}  // namespace
}  // namespace trainyard::schedule
