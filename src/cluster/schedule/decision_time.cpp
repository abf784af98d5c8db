#include "cluster/schedule/decision_time.h"

#include <ctime>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {

DecisionMeasure measure_decision(std::string_view policy, int64_t jobs, int64_t nodes) {
  TY_REQUIRE(jobs >= 1 && nodes >= 1, "{} jobs on {} nodes; both have to be at least 1", jobs,
             nodes);
  const Cluster cluster = Cluster::uniform(static_cast<int32_t>(nodes), {20, 4, 64, 0});
  const RandomStream random(1);
  std::vector<Job> all;
  for (int64_t i = 0; i < jobs; ++i) {
    const auto n = static_cast<uint64_t>(i);
    auto model = std::make_shared<SpeedModel>();
    model->form = SpeedForm::kSync;
    // Speeds that grow up to dozens of workers, so that the cluster fills.
    model->theta = {0.5 + random.uniform(3 * n), 0.1, 0.5 + random.uniform(3 * n + 1), 0.001,
                    0.001};
    model->batch = 512;
    Job job;
    job.worker = {3, 0.5, 8, 0};
    job.server = {2, 0, 8, 0};
    job.most_workers = job.most_servers = 64;
    job.gang = 8;
    job.progress = std::make_shared<SteadyProgress>(1000 + 9000 * random.uniform(3 * n + 2), model);
    all.push_back(std::move(job));
  }
  ClusterState state{0, &cluster, {}};
  const Allocation none;
  for (size_t i = 0; i < all.size(); ++i) {
    state.jobs.push_back({.job = &all[i], .index = i, .now = &none});
  }
  const auto chosen = make_policy(policy);
  const Stopwatch watch;
  const std::clock_t used = std::clock();
  const std::vector<Change> made = chosen->decide(state);
  DecisionMeasure measure{.tasks = 0,
                          .seconds = watch.seconds(),
                          .cpu_seconds = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC};
  for (const auto& [position, one] : made) measure.tasks += one.servers + one.workers;
  return measure;
}

}  // namespace trainyard::schedule
