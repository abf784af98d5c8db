// Workloads drawn as the papers describe theirs.
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"
#include "cluster/schedule/published.h"
#include "cluster/schedule/workload.h"

namespace trainyard::schedule {
namespace {

constexpr double kArrivalSpan = 12'000;  // seconds, for 60 jobs

// Seconds of a gang on its fastest device: 10^x minutes (Gavel, section 7.1).
double gavel_seconds(const RandomStream& random, uint64_t i) {
  const double x = random.uniform(4 * i) < 0.8 ? 1.5 + 1.5 * random.uniform(4 * i + 1)
                                               : 3 + random.uniform(4 * i + 1);
  return 60 * std::pow(10, x);
}

int32_t gavel_gpus(const RandomStream& random, uint64_t i) {
  const double u = random.uniform(4 * i + 2);
  if (u < 0.7) return 1;
  if (u < 0.95) return u < 0.825 ? 2 : 4;
  return 8;
}

// Gangs with Poisson arrivals, `per_second` of them.
std::vector<Job> gangs(int64_t count, double per_second, const RandomStream& random) {
  std::vector<Job> jobs;
  double now = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<uint64_t>(i);
    now += -std::log(1 - random.uniform(4 * n + 3)) / per_second;
    Job job;
    job.id = fmt::format("{}", i);
    job.arrival = now;
    job.rigid = true;
    job.gang = job.most_workers = gavel_gpus(random, n);
    job.worker = {0, 1, 0, 0};
    job.model = fmt::format("{} GPUs", job.gang);
    job.progress =
        std::make_shared<SteadyProgress>(gavel_seconds(random, n), std::vector<double>{1});
    jobs.push_back(std::move(job));
  }
  return jobs;
}

double gpu_seconds(const std::vector<Job>& jobs) {
  double sum = 0;
  for (const Job& job : jobs) sum += job.progress->remaining() * job.gang;
  return sum;
}

}  // namespace

Workload optimus_workload(int64_t jobs, uint64_t seed) {
  Workload workload;
  workload.name = fmt::format("optimus:{}", jobs);
  workload.cluster = Cluster::uniform(13, {16, 0, 80, 0});
  workload.options.interval = 600;
  workload.options.restart_seconds = 15;
  std::vector<std::shared_ptr<SpeedModel>> sync;
  std::vector<std::shared_ptr<SpeedModel>> async;
  const std::vector<std::string> models = published_speed_models();
  for (const std::string& name : models) {
    const PublishedSpeeds speeds = published_speeds(name);
    for (const SpeedForm form : {SpeedForm::kSync, SpeedForm::kAsync}) {
      auto model = std::make_shared<SpeedModel>(
          fit_speed(form, speeds.batch, speeds.points, SpeedError::kRelative));
      model->measured.clear();
      (form == SpeedForm::kSync ? sync : async).push_back(std::move(model));
    }
  }
  const RandomStream random(seed, hash_text("optimus"));
  const double span = kArrivalSpan * std::max(1.0, static_cast<double>(jobs) / 60);
  for (int64_t i = 0; i < jobs; ++i) {
    const auto n = static_cast<uint64_t>(i);
    const size_t which = random.below(5 * n, models.size());
    const bool synchronous = random.uniform(5 * n + 1) < 0.5;
    Job job;
    job.id = fmt::format("{}", i);
    job.model = fmt::format("{} {}", models[which], synchronous ? "sync" : "async");
    job.arrival = span * random.uniform(5 * n + 2);
    job.worker = {2 + static_cast<double>(random.below(5 * n + 3, 3)), 0, 8, 0};
    job.server = {2, 0, 8, 0};
    job.most_workers = job.most_servers = 16;
    job.gang = 4;
    const auto& speed = synchronous ? sync[which] : async[which];
    // A quarter of an hour to an hour with 4 servers and 4 workers.
    const double seconds = 900 + 2700 * random.uniform(5 * n + 4);
    job.progress = std::make_shared<SteadyProgress>(seconds * speed->fitted(4, 4), speed);
    workload.jobs.push_back(std::move(job));
  }
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  return workload;
}

Workload gavel_workload(int64_t jobs, uint64_t seed) {
  Workload workload;
  workload.name = fmt::format("gavel:{}", jobs);
  workload.cluster.types = {"v100", "p100", "k80"};
  for (int32_t type = 0; type < 3; ++type) {
    workload.cluster.nodes.insert(workload.cluster.nodes.end(), 9, Node{{0, 4, 0, 0}, type, true});
  }
  workload.options.interval = 360;
  const RandomStream random(seed, hash_text("gavel"));
  workload.jobs = gangs(jobs, 4.0 / 3600, random);
  const RandomStream speeds(seed, hash_text("speeds"));
  for (size_t i = 0; i < workload.jobs.size(); ++i) {
    // A P100 is 1.1 to 2 times slower than a V100 in Gavel's measurements, a K80 3 to 12 times.
    const double p100 = 1.1 + 0.9 * speeds.uniform(2 * i);
    const double k80 = 3 + 9 * speeds.uniform(2 * i + 1);
    workload.jobs[i].progress = std::make_shared<SteadyProgress>(
        workload.jobs[i].progress->remaining(), std::vector<double>{1, 1 / p100, 1 / k80});
  }
  return workload;
}

Workload month_workload(int64_t jobs, uint64_t seed) {
  constexpr double kMonth = 30 * 86'400;
  Workload workload;
  workload.name = fmt::format("month:{}", jobs);
  workload.jobs =
      gangs(jobs, static_cast<double>(jobs) / kMonth, RandomStream(seed, hash_text("month")));
  const double gpus = gpu_seconds(workload.jobs) / kMonth / 0.8;
  workload.cluster =
      Cluster::uniform(std::max(2, static_cast<int32_t>(std::ceil(gpus / 4))), {0, 4, 0, 0});
  workload.options.interval = 0;
  return workload;
}

}  // namespace trainyard::schedule
