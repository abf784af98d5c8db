#include "cluster/schedule/plan.h"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/zoo/model.h"

namespace trainyard::schedule {
namespace {

TEST(Plan, MeetsDeadlineAndBudgetAndSaysWhatIsFastest) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return models::build_model(name); });
  PlanQuestion question{.model = "lenet5", .images = 60000, .epochs = 10};
  const Plan free = make_plan(question, catalog, networks);
  EXPECT_GT(free.considered, static_cast<int64_t>(free.choices.size()));
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

// An H100 with NVLink and InfiniBand is not what machines with a PCIe board and Ethernet sell.
TEST(Plan, EveryOfferIsPredictedWithItsOwnLinksAndOnce) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return models::build_model(name); });
  PlanQuestion question{.model = "resnet50", .images = 1281167, .epochs = 90};
  question.devices = {"h100", "h100-nvl", "l4"};
  const Plan plan = make_plan(question, catalog, networks);
  std::set<std::tuple<std::string, int64_t>> seen;
  for (const PlanChoice& choice : plan.choices) {
    SCOPED_TRACE(choice.offer);
    const predict::RentableInstance& offer = catalog.offer(choice.offer);
    EXPECT_EQ(choice.device, offer.device);
    EXPECT_EQ(choice.inside, offer.inside);
    EXPECT_EQ(choice.network, offer.network_text());
    EXPECT_TRUE(seen.emplace(choice.offer, choice.workers).second) << choice.workers;
    EXPECT_FALSE(choice.device == "h100" && choice.offer.starts_with("Standard_NC"));
  }
  question.every_batch = true;
  const Plan all = make_plan(question, catalog, networks);
  EXPECT_GT(all.choices.size(), 2 * plan.choices.size());
  EXPECT_EQ(all.considered, plan.considered);
  EXPECT_EQ(all.cheapest->cost_usd, plan.cheapest->cost_usd);
  EXPECT_EQ(all.fastest->hours, plan.fastest->hours);
}

TEST(Plan, ThePrecisionIsTheOneAskedFor) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return models::build_model(name); });
  PlanQuestion question{.model = "resnet50", .images = 1281167, .epochs = 90};
  question.devices = {"a100"};
  const Plan single = make_plan(question, catalog, networks);
  question.precision = predict::Precision::kFp16;
  EXPECT_LT(make_plan(question, catalog, networks).cheapest->cost_usd, single.cheapest->cost_usd);
  question.precision = predict::Precision::kInt8;
  EXPECT_THROW(make_plan(question, catalog, networks), Error);
}

// Where the network is not published, one machine is all that can be offered.
TEST(Plan, AnUnknownNetworkConnectsNothing) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return models::build_model(name); });
  PlanQuestion question{.model = "resnet50", .images = 1281167, .epochs = 1};
  question.devices = {"v100-pcie"};
  for (const PlanChoice& choice : make_plan(question, catalog, networks).choices) {
    EXPECT_TRUE(choice.network != "not known" || choice.instances == 1) << choice.offer;
  }
}

}  // namespace
}  // namespace trainyard::schedule
