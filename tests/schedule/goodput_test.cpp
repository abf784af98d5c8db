// Pollux' simulator on one of its workloads (tools/schedule_fixtures.py).
#include "schedule/simulator/goodput.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "schedule/policies/policies.h"
#include "schedule/summary.h"

namespace trainyard::schedule {
namespace {

SimulationResult run_pollux(const Json& data, Policy& policy, bool elastic) {
  std::map<std::string, std::shared_ptr<GoodputApplication>> applications;
  for (const auto& [name, app] : data.at("applications").members()) {
    applications[name] = std::make_shared<GoodputApplication>(read_application(app));
  }
  const Json& table = data.at("jobs");
  std::vector<Job> jobs;
  for (size_t i = 0; i < table.at("name").items().size(); ++i) {
    const std::string& name = table.at("application").items()[i].as_string();
    const int64_t batch = table.at("batch_size").items()[i].as_int();
    const auto& app = applications.at(name);
    Job job;
    job.id = table.at("name").items()[i].as_string();
    job.arrival = table.at("submit_s").items()[i].as_number();
    job.worker = {0, 1, 0, 0};
    job.rigid = !elastic;
    job.gang = static_cast<int32_t>(table.at("num_replicas").items()[i].as_int());
    job.most_workers =
        elastic ? (name == "ncf" ? 1 : static_cast<int32_t>(batch / app->least_local)) : job.gang;
    job.progress = std::make_shared<GoodputProgress>(app, batch);
    jobs.push_back(std::move(job));
  }
  const Json& shape = data.at("cluster");
  const Cluster cluster = Cluster::uniform(static_cast<int32_t>(shape.at("nodes").as_int()),
                                           {0, shape.at("gpus_per_node").as_number(), 0, 0});
  return simulate(cluster, jobs, policy,
                  {.interval = shape.at("interval_s").as_number(),
                   .restart_seconds = shape.at("restart_delay_s").as_number()});
}

void expect_like(const SimulationResult& result, const Json& expected) {
  EXPECT_NEAR(summarise(result).average / expected.at("avg_jct_s").as_number(), 1, 0.005);
  size_t same = 0;
  for (const JobResult& job : result.jobs) {
    same += job.completion_time() == expected.at("jct_s").at(job.id).as_number();
  }
  EXPECT_GT(same, result.jobs.size() * 9 / 10);
}

TEST(PolluxOracle, Tiresias) {
  const Json data = fixture("pollux.json");
  const auto policy = make_gang(
      {.order = GangOptions::Order::kAttained2d, .queue_limits = {57'600}, .waiting_last = false},
      "tiresias");
  expect_like(run_pollux(data, *policy, false), data.at("results").at("tiresias"));
}

TEST(PolluxOracle, Optimus) {
  const Json data = fixture("pollux.json");
  const auto policy = make_optimus({.placement = OptimusOptions::Placement::kFreest});
  expect_like(run_pollux(data, *policy, true), data.at("results").at("optimus"));
}

}  // namespace
}  // namespace trainyard::schedule
