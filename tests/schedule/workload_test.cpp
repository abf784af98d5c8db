#include "schedule/workload.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "schedule/loss/stages.h"
#include "schedule/policies/policies.h"
#include "schedule/published.h"
#include "schedule/summary.h"
#include "schedule/time_to_accuracy.h"

namespace trainyard::schedule {
namespace {

std::string message_of(const std::string& yaml) {
  try {
    workload_from_yaml(yaml, "w.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kMixed = R"(
cluster: {nodes: 3, cpu: 16, gpu: 2, memory_gb: 48}
interval_s: 60
restart_s: 10
failures: [{node: 0, at_s: 100, until_s: 400}]
jobs:
  - {id: late, arrival_s: 90, gpus: 2, duration_s: 300}
  - {id: first, form: sync, theta: [0.01, 0.1, 0.05, 0.001, 0.001], batch: 64, steps: 900,
     worker: {cpu: 2, gpu: 1}, server: {cpu: 2}, most_workers: 4}
  - {id: curve, speed: "published:wlm", loss: {beta: [0.21, 1.07, 0.07], threshold: 0.01, epoch_steps: 40},
     worker: {cpu: 4}, server: {cpu: 2}}
)";

TEST(Workload, OwnFormatRunsUnderEveryPolicy) {
  const Workload workload = workload_from_yaml(kMixed, "w.yaml");
  ASSERT_EQ(workload.jobs.size(), 3U);
  EXPECT_EQ(workload.jobs[2].id, "late");
  for (const PolicyEntry& entry : all_policies()) {
    const auto policy = entry.make();
    const SimulationResult result =
        simulate(workload.cluster, workload.jobs, *policy, workload.options);
    const Summary summary = summarise(result);
    EXPECT_GT(summary.average, 0) << entry.name;
    EXPECT_GE(summary.p99, summary.median);
  }
}

TEST(Workload, WrongFieldsAreNamed) {
  EXPECT_NE(message_of("cluster: {nodes: 1, gpu: 1}\njobs: [{id: a, gpus: 0, duration_s: 1}]\n")
                .find("gpus"),
            std::string::npos);
  EXPECT_NE(message_of("cluster: {nodes: 1}\njobs: [{id: a, gpu: 1}]\n").find("gpu"),
            std::string::npos);
  EXPECT_NE(
      message_of("cluster: {nodes: 1, cpu: 8}\njobs: [{id: a, form: sync, theta: [1], steps: 1, "
                 "worker: {cpu: 1}}]\n")
          .find("expected 5"),
      std::string::npos);
  EXPECT_THROW(workload_from_csv("job_id,num_gpu,submit_time,duration\n1,2,0,-5\n", "t.csv", {}),
               Error);
  EXPECT_THROW(workload_from_csv("job_id,submit_time,duration\n1,0,5\n", "t.csv", {}), Error);
  EXPECT_THROW(load_workload("gavle:10", {}, 1), Error);
}

TEST(Workload, TablesOfGangs) {
  const Workload workload = workload_from_csv(
      "job_id,num_gpu,submit_time,duration\nb,2,50,100\na,1,0,100\n", "t.csv", {.nodes = 2});
  EXPECT_EQ(workload.jobs[0].id, "a");
  const auto policy = make_policy("gang-fifo");
  const SimulationResult result =
      simulate(workload.cluster, workload.jobs, *policy, workload.options);
  EXPECT_EQ(result.makespan, 150);
}

TEST(Workload, GeneratorsAreRepeatable) {
  for (const char* name : {"optimus:20", "gavel:20", "month:50"}) {
    const Workload a = load_workload(name, {}, 3);
    const Workload b = load_workload(name, {}, 3);
    const auto policy_a = make_policy("tiresias");
    const auto policy_b = make_policy("tiresias");
    const auto first = simulate(a.cluster, a.jobs, *policy_a, a.options);
    const auto second = simulate(b.cluster, b.jobs, *policy_b, b.options);
    EXPECT_EQ(first.makespan, second.makespan) << name;
  }
}

// Mixed devices: a policy that knows them gets more done than one that does not.
TEST(Workload, GavelUsesFastDevicesWell) {
  const Workload workload = gavel_workload(60, 1);
  const auto average = [&](const char* name) {
    const auto policy = make_policy(name);
    return summarise(simulate(workload.cluster, workload.jobs, *policy, workload.options)).average;
  };
  EXPECT_LT(average("gavel-las"), average("gang-fifo"));
}

TEST(TimeToAccuracy, MoreWorkersHelpUntilTheServersLimit) {
  const PublishedSpeeds speeds = published_speeds("resnext-110");
  const SpeedModel model =
      fit_speed(SpeedForm::kSync, speeds.batch, speeds.points, SpeedError::kRelative);
  const TimeAnswer answer =
      time_to_accuracy(model, {.steps = 1000, .servers = {2, 4}, .workers = {1, 2, 4, 8, 16}});
  ASSERT_EQ(answer.points.size(), 10U);
  for (const TimePoint& point : answer.points) {
    EXPECT_NEAR(point.seconds, 1000 / model.at(point.servers, point.workers), 1e-9);
    EXPECT_LE(answer.points[answer.fastest].seconds, point.seconds);
  }
  EXPECT_THROW(time_to_accuracy(model, {.steps = 0, .servers = {1}, .workers = {1}}), Error);
}

TEST(Depths, PredictACurveThatWasLeftOut) {
  std::vector<DepthCurve> curves;
  for (const char* name : {"resnet20", "resnet20-b", "resnet32", "resnet56", "resnet56-b"}) {
    DepthCurve one = published_curve(name);
    const StageRange first = find_stages(one.curve).front();
    one.curve = one.curve.part(first.first, first.last);
    curves.push_back(std::move(one));
  }
  const std::vector<DepthError> errors = leave_one_depth_out(curves);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_TRUE(errors[1].inside);
  EXPECT_LT(errors[1].mape, 0.15);
}

}  // namespace
}  // namespace trainyard::schedule
