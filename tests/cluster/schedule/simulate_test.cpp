#include "cluster/schedule/simulator/simulate.h"

#include <gtest/gtest.h>

#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/workload.h"

namespace trainyard::schedule {
namespace {

// Another policy's decisions, looking at every job all the time.
class Watchful : public Policy {
 public:
  explicit Watchful(std::string_view name) : policy_(make_policy(name)) {}
  std::string_view name() const override { return policy_->name(); }
  std::vector<Change> decide(const ClusterState& state) override { return policy_->decide(state); }
  double wake_up() const override { return policy_->wake_up(); }

 private:
  std::unique_ptr<Policy> policy_;
};

class LazyJobs : public testing::TestWithParam<const char*> {};

// Jobs that a policy does not watch are brought up to date only when something happens to them.
// That changes nothing, not with restarts, failing nodes, gangs that wait and decisions at
// intervals.
TEST_P(LazyJobs, RunAsWatchedOnes) {
  for (const double interval : {0.0, 300.0}) {
    Workload workload = month_workload(400, 3);
    workload.options.interval = interval;
    workload.options.restart_seconds = 40;
    workload.options.failures = {{0, 1e5, 3e5}, {1, 4e5, 4.1e5}, {2, 4e5, 9e5}};
    workload.cluster.nodes.resize(workload.cluster.nodes.size() * 2 / 3);
    const auto lazy = make_policy(GetParam());
    const SimulationResult one = simulate(workload.cluster, workload.jobs, *lazy, workload.options);
    Watchful eager(GetParam());
    const SimulationResult other =
        simulate(workload.cluster, workload.jobs, eager, workload.options);
    EXPECT_EQ(one.decisions, other.decisions);
    EXPECT_EQ(one.failures, 3);
    EXPECT_NEAR(one.makespan, other.makespan, 1e-6);
    EXPECT_NEAR(one.utilization[1], other.utilization[1], 1e-9);
    EXPECT_NEAR(one.restart_share, other.restart_share, 1e-9);
    int64_t restarts = 0;
    for (size_t i = 0; i < one.jobs.size(); ++i) {
      SCOPED_TRACE(one.jobs[i].id);
      EXPECT_NEAR(one.jobs[i].start, other.jobs[i].start, 1e-6);
      EXPECT_NEAR(one.jobs[i].end, other.jobs[i].end, 1e-6);
      EXPECT_NEAR(one.jobs[i].alone, other.jobs[i].alone, 1e-6 * other.jobs[i].alone);
      EXPECT_EQ(one.jobs[i].restarts, other.jobs[i].restarts);
      EXPECT_EQ(one.jobs[i].spans.size(), other.jobs[i].spans.size());
      restarts += one.jobs[i].restarts;
    }
    EXPECT_GT(restarts, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, LazyJobs,
                         testing::Values("optimus", "optimus-pollux", "gang-fifo", "gang-backfill",
                                         "gang-smallest", "drf"));

Job gang_of(int32_t workers, double arrival, double seconds) {
  Job job;
  job.id = std::to_string(workers);
  job.arrival = arrival;
  job.rigid = true;
  job.gang = job.most_workers = workers;
  job.worker = {0, 1, 0, 0};
  job.progress = std::make_shared<SteadyProgress>(seconds, std::vector<double>{1});
  return job;
}

// A job that comes and goes between two decisions shared the cluster with the jobs of that time,
// however short it was.
TEST(Fairness, OfAJobWithinOneInterval) {
  const Cluster cluster = Cluster::uniform(1, {0, 4, 0, 0});
  for (const double interval : {0.0, 600.0}) {
    const auto policy = make_policy("gang-fifo");
    const SimulationResult alone =
        simulate(cluster, {gang_of(4, 0, 100)}, *policy, SimulationOptions{.interval = interval});
    EXPECT_NEAR(alone.jobs[0].alone, 100, 1e-9);
    // Two at once: with half of the cluster the larger one takes turns.
    const auto again = make_policy("gang-fifo");
    const SimulationResult two = simulate(cluster, {gang_of(1, 0, 100), gang_of(3, 0, 100)}, *again,
                                          SimulationOptions{.interval = interval});
    EXPECT_NEAR(two.jobs[0].alone, 100, 1e-9);
    EXPECT_NEAR(two.jobs[1].alone, 150, 1e-9);
  }
}

// A job comes while the faster node, or every node, is down.
TEST(Gavel, UsesNodesThatReturn) {
  Cluster cluster = Cluster::uniform(2, {0, 1, 0, 0});
  cluster.types = {"slow", "fast"};
  cluster.nodes[1].type = 1;
  Job job = gang_of(1, 10, 1000);
  job.progress = std::make_shared<SteadyProgress>(1000, std::vector<double>{1, 10});
  const NodeFailure slow{0, 1, 20};
  const NodeFailure fast{1, 1, 20};
  for (const char* name : {"gavel-las", "gavel-makespan", "gavel-ftf"}) {
    for (const auto& failures : {std::vector{fast}, std::vector{slow, fast}}) {
      const auto policy = make_policy(name);
      const SimulationResult result =
          simulate(cluster, {job}, *policy, {.interval = 10, .failures = failures});
      EXPECT_GT(result.jobs[0].end, 100) << name << failures.size();
      EXPECT_LT(result.jobs[0].end, 200) << name << failures.size();
    }
  }
}

}  // namespace
}  // namespace trainyard::schedule
