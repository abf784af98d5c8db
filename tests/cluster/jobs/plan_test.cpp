#include "cluster/jobs/plan.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "cluster/jobs/examples.h"
#include "cluster/jobs/job_file.h"
#include "cluster/jobs/overview.h"
#include "cluster/jobs/render.h"
#include "models/zoo/model.h"
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
  for (const RentableInstance& offer : plan.offers) {
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
  for (const RentableInstance& offer : plan.offers) {
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
  for (const RentableInstance& offer : plan.offers) {
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
  const auto workload = workload_of(job_of(
      "name: a\ncommand: trainyard train --model resnet18-cifar --data cifar10:x --batch 512 "
      "--epochs 30\n"));
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ(workload->model, "resnet18-cifar");
  EXPECT_EQ(workload->batch, 512);
  EXPECT_EQ(workload->images, 50000);
  EXPECT_EQ(workload->epochs, 30);
  EXPECT_FALSE(workload_of(job_of("name: a\ncommand: python x.py\n")).has_value());
}

// Our own training runs on processors: it is neither predicted nor praised on accelerators.
TEST(Plan, AcceleratorsThatTheCommandCannotUseAreWarnedOf) {
  const std::string text =
      "name: a\nimage: i\ntime_limit: 2h\n"
      "command: trainyard train --model resnet18-cifar --data cifar10 --epochs 30\n";
  const Job idle = job_of(text + "nodes: 2\nmachine:\n  accelerator: v100\n  count: 4\n");
  EXPECT_NE(idle_accelerators(idle).find("4 v100 on each of 2 nodes"), std::string::npos);
  const Plan plan = plan_job(idle, options());
  EXPECT_FALSE(plan.workload);
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes[0].find("runs on processors alone"), std::string::npos) << plan.notes[0];
  for (const RentableInstance& offer : plan.offers)
    EXPECT_EQ(offer.time, TimeOrigin::kLimit) << offer.machine;
  std::vector<std::string> warnings;
  read_job(job_yaml(idle), "job.yaml", warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("field 'machine.accelerator': 'trainyard train'"), std::string::npos)
      << warnings[0];
  for (const Format* format : all_formats()) {
    const std::string file = render(idle, *format).files[0].text();
    const CheckResult result = check_job_file(parse_job_file(file, "f"));
    EXPECT_TRUE(result.ok()) << format->id;
    // IBM's names of hardware are its users' own and tell no number.
    if (format->id == "ibm") continue;
    EXPECT_TRUE(std::any_of(result.findings.begin(), result.findings.end(), [](const Finding& one) {
      return one.message.find("stand idle") != std::string::npos;
    })) << format->id;
  }
  // Told to use them, it is predicted on them.
  Job told = idle;
  for (const char* flag : {"--device=torch:cuda", "--device torch:cuda:1"}) {
    told.command =
        job_of("name: a\ncommand: trainyard train --model lenet5 " + std::string(flag) + "\n")
            .command;
    EXPECT_EQ(idle_accelerators(told), "") << flag;
  }
  told.command.back() = "torch:cpu";
  EXPECT_NE(idle_accelerators(told), "");
  // On processors it is predicted.
  const Job processors = job_of(text + "platforms: {sagemaker: {instance_type: ml.c5.18xlarge}}\n");
  EXPECT_EQ(idle_accelerators(processors), "");
  bool seen = false;
  for (const RentableInstance& offer : plan_job(processors, options()).offers) {
    if (offer.machine != "ml.c5.18xlarge") continue;
    EXPECT_EQ(offer.time, TimeOrigin::kPredicted);
    seen = true;
  }
  EXPECT_TRUE(seen);
}

// Two machines with "h100" are not one: the boards and the links differ.
TEST(Plan, AMachineIsPredictedWithItsOwnBoardAndLinks) {
  const Job job = job_of(
      "name: a\nimage: i\ncommand: python x.py\nnodes: 4\nmachine: {accelerator: v100, count: 4}\n"
      "workload: {model: vgg16, batch: 512, epochs: 1, images: 1281167}\n");
  std::map<std::string, double> hours;
  for (const RentableInstance& offer : plan_job(job, options()).offers) {
    if (offer.hours) hours[offer.machine] = *offer.hours;
  }
  // NVLink and 10 Gbit/s; PCI Express and an unknown network; PCI Express and InfiniBand.
  ASSERT_TRUE(hours.contains("p3.8xlarge") && hours.contains("Standard_NC24s_v3") &&
              hours.contains("Standard_NC24rs_v3"));
  EXPECT_NE(hours["p3.8xlarge"], hours["Standard_NC24rs_v3"]);
  EXPECT_LT(hours["Standard_NC24rs_v3"], hours["Standard_NC24s_v3"]);
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
