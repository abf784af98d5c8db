#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/simulator/simulate.h"
#include "fixture.h"

namespace trainyard::schedule {
namespace {

Resources demand(const Json& object) {
  const Json* gpu = object.find("gpu");
  return {object.at("cpu").as_number(), gpu != nullptr ? gpu->as_number() : 0,
          object.at("mem_gb").as_number(), 0};
}

std::vector<Job> jobs_of(const Json& one) {
  std::vector<Job> jobs;
  for (const Json& row : one.at("jobs").items()) {
    auto model = std::make_shared<SpeedModel>();
    model->form = speed_form_from_name(row.at("mode").as_string());
    model->theta = numbers(row.at("theta"));
    model->batch = row.at("M").as_number();
    Job job;
    job.id = std::to_string(row.at("id").as_int());
    job.worker = demand(row.at("worker"));
    job.server = demand(row.at("ps"));
    job.most_workers = job.most_servers = 1000;
    job.progress = std::make_shared<SteadyProgress>(row.at("remaining_steps").as_number(), model);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<int64_t> sorted_counts(const Json& nodes) {
  std::map<int64_t, int64_t> counts;
  for (const Json& node : nodes.items()) counts[node.as_int()] += 1;
  std::vector<int64_t> sorted;
  for (const auto& [node, count] : counts) sorted.push_back(count);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::vector<int64_t> sorted_counts(const Shares& shares) {
  std::vector<int64_t> sorted;
  for (const Share& share : shares) sorted.push_back(share.count);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::vector<Allocation> decide_once(const std::vector<Job>& jobs, const Cluster& cluster) {
  ClusterState state{0, &cluster, {}};
  const Allocation none;
  for (size_t i = 0; i < jobs.size(); ++i) {
    state.jobs.push_back({.job = &jobs[i], .index = i, .now = &none});
  }
  std::vector<Allocation> made(jobs.size());
  for (Change& change : make_optimus({})->decide(state)) {
    made[change.position] = std::move(change.allocation);
  }
  return made;
}

// The authors' scheduler: numbers of servers and workers of every job. One node with everything, so
// that placement takes nothing away.
TEST(OptimusOracle, Allocation) {
  const Json data = fixture("allocation.json");
  for (const Json& one : data.at("cases").items()) {
    const std::vector<Job> jobs = jobs_of(one);
    Resources all = demand(one.at("per_node"));
    for (double& amount : all) amount *= one.at("nodes").as_number();
    const std::vector<Allocation> made = decide_once(jobs, Cluster::uniform(1, all));
    for (size_t i = 0; i < jobs.size(); ++i) {
      SCOPED_TRACE("case " + std::to_string(one.at("seed").as_int()) + " job " + jobs[i].id);
      const Json& expected = one.at("allocation_ps_workers").at(jobs[i].id);
      EXPECT_EQ(made[i].servers, expected.items()[0].as_int());
      EXPECT_EQ(made[i].workers, expected.items()[1].as_int());
    }
  }
}

// How the tasks of each job are spread. There one job at most is cut down to what fits or put
// wherever there is room, and those after it wait; so they are left out.
TEST(OptimusOracle, Placement) {
  const Json data = fixture("allocation.json");
  for (const Json& one : data.at("cases").items()) {
    const std::vector<Job> jobs = jobs_of(one);
    const std::vector<Allocation> made =
        decide_once(jobs, Cluster::uniform(static_cast<int32_t>(one.at("nodes").as_int()),
                                           demand(one.at("per_node"))));
    size_t different = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const Json* placed = one.at("placement").find(jobs[i].id);
      if (placed == nullptr) continue;
      different += sorted_counts(made[i].server_nodes) != sorted_counts(placed->at("ps")) ||
                   sorted_counts(made[i].worker_nodes) != sorted_counts(placed->at("workers"));
    }
    EXPECT_LE(different, 1U) << one.at("seed").as_int();
  }
}

Job gang_job(int32_t gpus) {
  Job job;
  job.rigid = true;
  job.gang = job.most_workers = gpus;
  job.worker = {0, 1, 0, 0};
  job.progress = std::make_shared<SteadyProgress>(100, std::vector<double>{1});
  return job;
}

// Gangs that take no CPUs use all nodes, evenly where that goes and else what is free.
TEST(Optimus, GangsFillEveryNode) {
  for (const double cpus : {0.0, 16.0}) {
    std::vector<Job> jobs;
    for (const int32_t gpus : {1, 1, 2, 4, 4}) jobs.push_back(gang_job(gpus));
    const std::vector<Allocation> made = decide_once(jobs, Cluster::uniform(3, {cpus, 4, 0, 0}));
    for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(made[i].workers, jobs[i].gang) << i;
  }
}

// Jobs that cannot be spread evenly take what is left, though others like them found nodes full.
TEST(Optimus, WhatIsLeftIsFoundAgain) {
  std::vector<Job> jobs;
  for (int i = 0; i < 9; ++i) {
    Job job = gang_job(1);
    job.rigid = false;
    job.worker = {3, 0, 0, 0};
    job.server = {2, 0, 0, 0};
    job.most_servers = 1;
    jobs.push_back(std::move(job));
  }
  // A node holds a job and three CPUs more: a worker or a server of another.
  const std::vector<Allocation> made = decide_once(jobs, Cluster::uniform(6, {8, 0, 0, 0}));
  int64_t placed = 0;
  std::vector<double> used(6);
  for (const Allocation& one : made) {
    placed += one.workers;
    EXPECT_EQ(one.workers, one.servers);
    for (const Share& share : one.worker_nodes) used[static_cast<size_t>(share.node)] += 3;
    for (const Share& share : one.server_nodes) used[static_cast<size_t>(share.node)] += 2;
  }
  EXPECT_EQ(placed, 9);
  for (const double amount : used) EXPECT_LE(amount, 8);
}

Job small_job(const std::string& id, double arrival, double work) {
  auto model = std::make_shared<SpeedModel>();
  model->form = SpeedForm::kSync;
  model->theta = {0.01, 0.1, 0.05, 0.001, 0.001};
  model->batch = 128;
  Job job;
  job.id = id;
  job.arrival = arrival;
  job.worker = {2, 1, 4, 0};
  job.server = {2, 0, 4, 0};
  job.most_workers = job.most_servers = job.gang = 4;
  job.progress = std::make_shared<SteadyProgress>(work, model);
  return job;
}

std::vector<Job> small_jobs() {
  std::vector<Job> jobs;
  for (int i = 0; i < 12; ++i) {
    jobs.push_back(small_job("job" + std::to_string(i), 100.0 * i, 2000 + 700.0 * (i % 5)));
  }
  return jobs;
}

// Every policy ends every job, whatever fails and whatever the estimates say, and takes no more
// than there is.
TEST(Simulation, EveryPolicyEndsEveryJob) {
  const Cluster cluster = Cluster::uniform(4, {16, 2, 64, 0});
  for (const PolicyEntry& entry : all_policies()) {
    for (const double interval : {60.0, 0.0}) {
      SCOPED_TRACE(std::string(entry.name) + " " + std::to_string(interval));
      const auto policy = entry.make();
      const SimulationResult result = simulate(cluster, small_jobs(), *policy,
                                               {.interval = interval,
                                                .restart_seconds = 5,
                                                .failures = {{.node = 1, .at = 400, .until = 900}},
                                                .speed_error = 0.2,
                                                .work_error = 0.2});
      for (const JobResult& job : result.jobs) {
        EXPECT_GE(job.start, job.arrival);
        EXPECT_GT(job.end, job.start);
        EXPECT_GT(job.alone, 0);
      }
      EXPECT_EQ(result.failures, 1);
      EXPECT_LE(result.utilization[1], 1 + 1e-9);
      EXPECT_GT(result.utilization[1], 0);
    }
  }
}

TEST(Simulation, NamesJobsThatCanNeverRun) {
  const Cluster cluster = Cluster::uniform(2, {8, 2, 16, 0});
  std::vector<Job> jobs = {small_job("huge", 0, 100)};
  jobs[0].worker[1] = 3;
  try {
    simulate(cluster, jobs, *make_policy("optimus"), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("huge"), std::string::npos);
  }
  // Worker and server fit, but never on one node, as the bundles of DRF have to.
  jobs = {small_job("wide", 0, 100)};
  jobs[0].worker[0] = 6;
  jobs[0].server[0] = 6;
  EXPECT_THROW(simulate(cluster, jobs, *make_policy("drf"), {}), Error);
  EXPECT_NO_THROW(simulate(cluster, jobs, *make_policy("optimus"), {}));
}

}  // namespace
}  // namespace trainyard::schedule
