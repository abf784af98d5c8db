#include "jobs/plan.h"

#include <gtest/gtest.h>

#include "jobs/examples.h"
#include "jobs/overview.h"
#include "jobs/prices.h"
#include "models/model.h"
#include "support/error_message.h"

namespace trainyard::jobs {
namespace {

PlanOptions options() {
  PlanOptions chosen;
  chosen.graphs = [](const std::string& name) { return models::build_model(name); };
  return chosen;
}

TEST(Plan, CheapestFirstAndEveryPriceHasItsDate) {
  const Plan plan = plan_job(example(), options());
  ASSERT_FALSE(plan.offers.empty());
  double last = 0;
  size_t priced = 0;
  for (const Offer& offer : plan.offers) {
    if (!offer.usd_per_hour) continue;
    ++priced;
    EXPECT_EQ(offer.date.size(), 10U);
    EXPECT_FALSE(offer.source.empty());
    EXPECT_EQ(offer.time, TimeOrigin::kPredicted);
    if (!offer.complete) continue;
    EXPECT_GE(*offer.total_usd(), last);
    last = *offer.total_usd();
  }
  EXPECT_GE(priced, 3U);
}

TEST(Plan, PricesAreThoseOfTheCatalog) {
  Job job = job_of(
      "name: a\ncommand: x\ntime_limit: 2h\nnodes: 2\nmachine: {accelerator: v100, count: 4}\n");
  const Plan plan = plan_job(job, options());
  bool seen = false;
  for (const Offer& offer : plan.offers) {
    if (offer.machine != "ml.p3.8xlarge") continue;
    seen = true;
    EXPECT_DOUBLE_EQ(*offer.usd_per_hour, 2 * 12.24);
    EXPECT_DOUBLE_EQ(*offer.total_usd(), 2 * 2 * 12.24);
    EXPECT_EQ(offer.time, TimeOrigin::kLimit);
    EXPECT_EQ(offer.date, "2025-06-04");
    EXPECT_NE(offer.note.find("surcharge"), std::string::npos);
  }
  EXPECT_TRUE(seen);
}

TEST(Plan, GooglePricesAMachineAndItsAccelerators) {
  const Plan plan = plan_job(
      job_of("name: a\ncommand: x\ntime_limit: 1h\nmachine: {accelerator: t4, count: 1}\n"),
      options());
  for (const Offer& offer : plan.offers) {
    if (offer.platform == "vertex" && offer.machine == "n1-standard-8") {
      EXPECT_NEAR(*offer.usd_per_hour, 0.38 + 0.35, 1e-9);
      EXPECT_EQ(offer.date, "2026-08-21");
      return;
    }
  }
  FAIL() << "no n1-standard-8";
}

TEST(Plan, UnknownAcceleratorsGetTheNearest) {
  EXPECT_NE(message_of([] {
              plan_job(job_of("name: a\ncommand: x\nmachine:\n  accelerator: v10\n"), options());
            }).find("job.yaml:4: field 'machine.accelerator': no platform has 'v10'. Did you mean"),
            std::string::npos);
}

TEST(Plan, WorkloadIsReadFromTheCommand) {
  const auto workload = workload_of(example());
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ(workload->model, "resnet18-cifar");
  EXPECT_EQ(workload->batch, 512);
  EXPECT_EQ(workload->images, 50000);
  EXPECT_EQ(workload->epochs, 30);
  EXPECT_FALSE(workload_of(job_of("name: a\ncommand: python x.py\n")).has_value());
}

TEST(Prices, EveryRowIsDatedAndSourced) {
  for (const PublishedPrice& price : published_prices()) {
    EXPECT_EQ(price.date.size(), 10U) << price.machine;
    EXPECT_GT(price.usd_per_hour, 0) << price.machine;
    EXPECT_FALSE(price.source.empty()) << price.machine;
  }
}

TEST(Overview, EveryCellHasTextSourceAndDate) {
  const std::vector<OverviewRow> rows = overview();
  EXPECT_GT(rows.size(), 30U);
  for (const OverviewRow& row : rows) {
    EXPECT_EQ(row.cells.size(), overview_platforms().size());
    for (const OverviewCell& cell : row.cells) {
      EXPECT_FALSE(cell.text.empty() || cell.source.empty() || cell.date.empty()) << row.topic;
    }
  }
}

}  // namespace
}  // namespace trainyard::jobs
