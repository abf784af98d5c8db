#include "cluster/schedule/workload.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "cluster/schedule/loss/stages.h"
#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/published.h"
#include "cluster/schedule/summary.h"
#include "cluster/schedule/time_to_accuracy.h"
#include "support/temporary_folder.h"

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
    const Summary summary = summarize(result);
    EXPECT_GT(summary.average, 0) << entry.name;
    EXPECT_GE(summary.p99, summary.median);
  }
}

TEST(Workload, WrongFieldsAreNamed) {
  EXPECT_NE(message_of("cluster: {nodes: 1, gpu: 1}\njobs: [{id: a, gpus: 0, duration_s: 1}]\n")
                .find("gpus"),
            std::string::npos);
  const std::string capacity =
      message_of("cluster: {nodes: 1, gpu: -4}\njobs: [{id: a, gpus: 1, duration_s: 1}]\n");
  EXPECT_NE(capacity.find("gpu"), std::string::npos) << capacity;
  EXPECT_NE(capacity.find("expected 0 or more, found -4"), std::string::npos) << capacity;
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

// As in Alibaba's openb: tasks run from the time that they were placed; some never were, or were
// gone at once.
TEST(Workload, TablesOfPlacedTasks) {
  const Workload workload = workload_from_csv(
      "name,num_gpu,pod_phase,creation_time,deletion_time,scheduled_time\n"
      "a,1,Running,0,120,20\nb,1,Pending,5,5,\nc,1,Pending,5,90,\nd,1,Failed,6,7,7\n"
      "e,1,Running,8,,9\nf,0,Running,8,20,9\n",
      "t.csv", {.nodes = 1});
  ASSERT_EQ(workload.jobs.size(), 1U);
  EXPECT_EQ(workload.jobs[0].progress->remaining(), 100);
}

TEST(Workload, PublishedJobs) {
  const Workload workload =
      load_workload("published:tiresias-60", {.nodes = 8, .gpus_per_node = 4}, 1);
  EXPECT_EQ(workload.jobs.size(), 60U);
  EXPECT_EQ(workload.cluster.total()[1], 32);
  EXPECT_THROW(load_workload("published:tiresias", {}, 1), Error);
}

// Jobs of the three layouts; a gang that was not measured goes by the largest smaller one.
TEST(Workload, TracesOfGavel) {
  const Json speeds = Json::parse(
      R"json({"v100": {"('A', 1)": {"null": 10, "('A', 1)": [5, 5]}, "('A', 2)": {"null": 16}},
              "k80": {"('A', 1)": {"null": 2}, "('A', 2)": {"null": 0}},
              "k80_unconsolidated": {}})json",
      "t.json");
  const Workload workload = workload_from_gavel(
      "A\trun\t-n\t1\t1000\t7.5\t4\nA\trun\t-n\t1\t500\t1\t2\t-1.0\t3\n"
      "A\trun\tfolder\t-n\t1\t200\t2\t1\t-1.0\t0\n",
      "j.trace", speeds, {.nodes = 2});
  EXPECT_EQ(workload.cluster.types, (std::vector<std::string>{"v100", "k80"}));
  EXPECT_EQ(workload.cluster.nodes.size(), 4U);
  ASSERT_EQ(workload.jobs.size(), 3U);
  EXPECT_EQ(workload.jobs[0].id, "2");
  EXPECT_EQ(workload.jobs[0].progress->speed(0, 2, 0), 16);
  EXPECT_EQ(workload.jobs[0].progress->speed(0, 2, 1), 4);
  EXPECT_EQ(workload.jobs[1].weight, 2);
  EXPECT_EQ(workload.jobs[2].progress->remaining(), 1000);
  EXPECT_EQ(workload.jobs[2].progress->speed(0, 4, 0), 32);
  for (const char* wrong : {"A\t1\n", "A\trun\t-n\t1\t1000\tx\t4\n", "A\trun\t-n\t1\t0\t0\t4\n",
                            "A\trun\t-n\t1\t10\t0\t1.5\n", "B\trun\t-n\t1\t10\t0\t1\n", ""}) {
    EXPECT_THROW(workload_from_gavel(wrong, "j.trace", speeds, {}), Error) << wrong;
  }
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
    return summarize(simulate(workload.cluster, workload.jobs, *policy, workload.options)).average;
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
  std::vector<Curve> curves;
  for (const char* name : {"resnet20", "resnet20-b", "resnet32", "resnet56", "resnet56-b"}) {
    const Curve one = published_curve(name);
    const StageRange first = find_stages(one).front();
    curves.push_back(one.part(first.first, first.last));
  }
  const std::vector<DepthError> errors = leave_one_depth_out(curves);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_TRUE(errors[1].inside);
  EXPECT_LT(errors[1].mape, 0.15);
}

// Two applications of Pollux' tables, as few rows as make sense.
class PolluxTables : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"small", "ncf"}) {
      const std::string at = std::string(name) + "/";
      std::filesystem::create_directory(folder_.path() / name);
      write(at + "placements.csv",
            "placement,local_bsz,step_time,sync_time\n1,8,0.1,0.01\n1,64,0.4,0.01\n"
            "2,8,0.12,0.02\n2,64,0.45,0.03\n");
      write(at + "scalability.csv",
            "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,8,0.2,0.1\n");
      write(at + "validation-16.csv",
            "progress,iteration,metric,grad_sqr,grad_var\n100,100,1,1,1\n200,200,2,1,1\n");
      write(at + "validation-64.csv",
            "progress,iteration,metric,grad_sqr,grad_var\n90,40,1,1,2\n210,70,2,1,2\n");
    }
  }
  void write(const std::string& name, const std::string& text) const {
    write_file((folder_.path() / name).string(), text);
  }
  Workload read(const std::string& rows) const {
    return workload_from_pollux("name,time,application,num_replicas,batch_size\n" + rows, "w.csv",
                                {.nodes = 2, .applications = folder_.path().string()});
  }
  std::string problem(const std::string& rows) const {
    try {
      read(rows);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_{"pollux"};
};

TEST_F(PolluxTables, RunUnderEveryPolicy) {
  const Workload workload = read("late,70,small,2,32\nfirst,0,ncf,1,64\n");
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[0].id, "first");
  EXPECT_EQ(workload.jobs[0].most_workers, 1);
  EXPECT_EQ(workload.jobs[1].gang, 2);
  EXPECT_EQ(workload.jobs[1].most_workers, 4);  // 32 images, 8 each
  EXPECT_EQ(workload.options.interval, 60);
  for (const PolicyEntry& entry : all_policies()) {
    const auto policy = entry.make();
    const SimulationResult result =
        simulate(workload.cluster, workload.jobs, *policy, workload.options);
    for (const JobResult& job : result.jobs) EXPECT_GT(job.end, job.start) << entry.name;
  }
}

TEST_F(PolluxTables, WrongFieldsAreNamed) {
  EXPECT_NE(problem("a,0,none,1,32\n").find("w.csv:2"), std::string::npos);
  EXPECT_NE(problem("a,0,../ncf,1,32\n").find("application"), std::string::npos);
  EXPECT_NE(problem("a,0,small,1,8\n").find("16 to 64"), std::string::npos);
  EXPECT_NE(problem("a,-1,small,1,32\n").find("time"), std::string::npos);
  EXPECT_NE(problem("a,0,small,0,32\n").find("num_replicas"), std::string::npos);
  EXPECT_NE(problem("").find("no jobs"), std::string::npos);
  write("small/validation-16.csv",
        "progress,iteration,metric,grad_sqr,grad_var\n100,100,1,1,1\n100,200,2,1,1\n");
  EXPECT_NE(problem("a,0,small,1,32\n").find("validation-16.csv:3"), std::string::npos);
  write("small/placements.csv", "placement,local_bsz,step_time,sync_time\n10,8,0.1,0.01\n");
  EXPECT_NE(problem("a,0,small,1,32\n").find("a digit each"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::schedule
