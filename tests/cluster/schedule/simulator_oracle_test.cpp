// Other simulators' completion times, job by job (tools/schedule_fixtures.py).
#include <gtest/gtest.h>

#include "cluster/schedule/policies/gavel_lp.h"
#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/simulator/simulate.h"
#include "fixture.h"

namespace trainyard::schedule {
namespace {

using Table = std::vector<std::vector<double>>;

Resources slots(const Json& pair) {
  return {pair.items()[0].as_number(), pair.items()[1].as_number(), 0, 0};
}

struct Dl2 {
  Json data = fixture("dl2.json");
  std::map<std::string, Table> speeds;

  Dl2() {
    for (const auto& [model, rows] : data.at("speeds").members()) {
      for (const Json& row : rows.items()) speeds[model].push_back(numbers(row));
    }
  }

  std::vector<Job> jobs(const Json& one) const {
    std::vector<Job> jobs;
    const auto most = static_cast<int32_t>(one.at("max_ps_or_workers_per_job").as_int());
    for (const Json& row : one.at("jobs").items()) {
      // Epochs per second.
      auto table = std::make_shared<Table>(speeds.at(row.at("model").as_string()));
      for (auto& line : *table) {
        for (double& speed : line) speed /= row.at("epoch_size").as_number();
      }
      Job job;
      job.id = std::to_string(row.at("id").as_int());
      job.arrival = row.at("arrival_slot").as_number() * one.at("slot_seconds").as_number();
      job.worker = slots(row.at("worker_cpu_gpu_slots"));
      job.server = slots(row.at("ps_cpu_gpu_slots"));
      job.most_workers = job.most_servers = most;
      job.progress = std::make_shared<SteadyProgress>(row.at("epochs").as_number(), table);
      jobs.push_back(std::move(job));
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
    return jobs;
  }
};

class Dl2Oracle : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Dl2Oracle, CompletionTimesOfEveryJob) {
  const Dl2 dl2;
  for (const Json& one : dl2.data.at("cases").items()) {
    const Cluster cluster = Cluster::uniform(static_cast<int32_t>(one.at("cluster_nodes").as_int()),
                                             slots(one.at("slots_per_node")));
    const auto policy = make_policy(GetParam().second);
    const double slot = one.at("slot_seconds").as_number();
    const SimulationResult result = simulate(cluster, dl2.jobs(one), *policy, {.interval = slot});
    for (const JobResult& job : result.jobs) {
      EXPECT_NEAR(job.completion_time() / slot,
                  one.at("jct_slots").at(GetParam().first).at(job.id).as_number(), 1e-6)
          << job.id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Dl2Oracle,
                         testing::Values(std::pair{"DRF", "drf"}, std::pair{"SRTF", "srtf"},
                                         std::pair{"FIFO", "fifo"},
                                         std::pair{"Optimus", "optimus-balanced"}),
                         [](const auto& one) { return one.param.first; });

// There the order of equal scores follows from rounding in an order of their own, so that only the
// average is compared.
TEST(Dl2Tetris, AverageCompletionTime) {
  const Dl2 dl2;
  for (const Json& one : dl2.data.at("cases").items()) {
    const Cluster cluster = Cluster::uniform(static_cast<int32_t>(one.at("cluster_nodes").as_int()),
                                             slots(one.at("slots_per_node")));
    const double slot = one.at("slot_seconds").as_number();
    const auto policy = make_tetris();
    const SimulationResult result = simulate(cluster, dl2.jobs(one), *policy, {.interval = slot});
    double ours = 0;
    double theirs = 0;
    for (const JobResult& job : result.jobs) {
      ours += job.completion_time() / slot;
      theirs += one.at("jct_slots").at("Tetris").at(job.id).as_number();
    }
    EXPECT_NEAR(ours / theirs, 1, 0.01);
  }
}

using Order = GangOptions::Order;
struct GangCase {
  const char* name;
  GangOptions options;
};

class TiresiasOracle : public testing::TestWithParam<GangCase> {};

std::vector<Job> gangs_of(const Json& table) {
  std::vector<Job> jobs;
  for (size_t i = 0; i < table.at("id").items().size(); ++i) {
    Job job;
    job.id = std::to_string(i);
    job.arrival = table.at("submit_s").items()[i].as_number();
    job.worker = {0, 1, 0, 0};
    job.gang = job.most_workers = static_cast<int32_t>(table.at("gpus").items()[i].as_int());
    job.rigid = true;
    job.progress = std::make_shared<SteadyProgress>(table.at("duration_s").items()[i].as_number(),
                                                    std::vector<double>{1});
    jobs.push_back(std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  return jobs;
}

TEST_P(TiresiasOracle, StartsEndsAndPreemptionsOfEveryJob) {
  const Json data = fixture("tiresias.json");
  for (const Json& one : data.at("cases").items()) {
    const Json& shape = one.at("cluster");
    const Cluster cluster = Cluster::uniform(static_cast<int32_t>(shape.at("nodes").as_int()),
                                             {0, shape.at("gpus_per_node").as_number(), 0, 0});
    const auto policy = make_gang(GetParam().options, GetParam().name);
    const SimulationResult result =
        simulate(cluster, gangs_of(one.at("jobs")), *policy, {.interval = 0});
    const Json& expected = one.at("results").at(GetParam().name);
    for (const JobResult& job : result.jobs) {
      const auto i = static_cast<size_t>(std::stoul(job.id));
      EXPECT_EQ(job.start, expected.at("start").items()[i].as_number()) << job.id;
      EXPECT_EQ(job.end, expected.at("end").items()[i].as_number()) << job.id;
      EXPECT_EQ(job.preemptions, expected.at("preempt").items()[i].as_int()) << job.id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, TiresiasOracle,
    testing::Values(GangCase{"fifo/count", {.order = Order::kArrival}},
                    GangCase{"fjf/count", {.order = Order::kBackfill}},
                    GangCase{"fifo/yarn", {.order = Order::kArrival, .consolidate = true}},
                    GangCase{"fjf/yarn", {.order = Order::kBackfill, .consolidate = true}},
                    GangCase{"sjf/count", {.order = Order::kSmallest}},
                    GangCase{"shortest/count", {.order = Order::kShortest}},
                    GangCase{"shortest-gpu/count", {.order = Order::kLeastLeft}},
                    GangCase{"dlas/count", {.order = Order::kAttained}},
                    GangCase{"dlas-gpu/count", {.order = Order::kAttained2d}}),
    [](const auto& one) {
      std::string name = one.param.name;
      for (char& c : name) c = c == '/' || c == '-' ? '_' : c;
      return name;
    });

TEST(GavelOracle, Objectives) {
  const Json data = fixture("gavel.json");
  for (const Json& one : data.at("cases").items()) {
    GavelProblem problem;
    problem.devices = numbers(one.at("gpus"));
    for (const Json& row : one.at("throughputs").items()) {
      problem.throughput.push_back(numbers(row));
      problem.scale.push_back(1);
    }
    const double las = one.at("las").as_number();
    const GavelShares fair = max_min_fairness(problem, numbers(one.at("weights")));
    EXPECT_NEAR(fair.objective, las, 1e-6 * las);
    const double makespan = one.at("makespan").as_number();
    const std::vector<double> steps = numbers(one.at("steps"));
    EXPECT_NEAR(min_makespan(problem, steps).objective, makespan, 1e-6 * makespan);
    for (const auto& row : fair.share) {
      double sum = 0;
      for (const double share : row) sum += share;
      EXPECT_LE(sum, 1 + 1e-9);
    }
    // Nobody is worse off than with an equal part of every type.
    std::vector<double> alone = proportional_throughput(problem);
    double devices = 0;
    for (const double count : problem.devices) devices += count;
    for (size_t m = 0; m < steps.size(); ++m) {
      const double part = std::min(1.0, devices / static_cast<double>(steps.size()));
      alone[m] = steps[m] / (alone[m] * part);
    }
    const GavelShares finish =
        finish_time_fairness(problem, steps, std::vector<double>(steps.size(), 0.0), alone);
    EXPECT_LE(finish.objective, 1 + 1e-6);
  }
}

}  // namespace
}  // namespace trainyard::schedule
