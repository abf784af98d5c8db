#include "cluster/schedule/workload.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cluster/schedule/loss/stages.h"
#include "cluster/schedule/published.h"

namespace trainyard::schedule {
namespace {

constexpr int64_t kMostNodes = 10'000'000;
constexpr int64_t kMostTasks = 1'000'000;  // workers or servers of a job
constexpr double kMostSeconds = 1e10;

// Of a node or a task, among other fields.
Resources read_amounts(const YamlView& view) {
  Resources out = {};
  for (size_t r = 0; r < kNumResources; ++r) {
    out[r] = view.number_or(resource_name(r), 0);
    if (out[r] < 0) {
      view.at(resource_name(r)).fail(fmt::format("expected 0 or more, found {}", out[r]));
    }
  }
  return out;
}

Resources read_resources(const YamlView& view) {
  view.only({"cpu", "gpu", "memory_gb", "bandwidth_gbps"});
  return read_amounts(view);
}

// One group or a list of them; nodes of a type get the number of its first mention.
Cluster read_cluster(const YamlView& view) {
  Cluster cluster;
  cluster.types.clear();
  const std::vector<YamlView> groups =
      view.json().is_array() ? view.items() : std::vector<YamlView>{view};
  for (const YamlView& group : groups) {
    group.only({"nodes", "type", "cpu", "gpu", "memory_gb", "bandwidth_gbps"});
    Node node;
    node.capacity = read_amounts(group);
    const std::string type = group.text_or("type", "gpu");
    const auto found = std::find(cluster.types.begin(), cluster.types.end(), type);
    node.type = static_cast<int32_t>(found - cluster.types.begin());
    if (found == cluster.types.end()) cluster.types.push_back(type);
    const int64_t count = group.at("nodes").count(1, kMostNodes);
    cluster.nodes.insert(cluster.nodes.end(), static_cast<size_t>(count), node);
  }
  if (cluster.nodes.empty()) view.fail("a cluster without nodes");
  return cluster;
}

std::shared_ptr<const SpeedModel> read_speed(const YamlView& job) {
  if (const auto speed = job.find("speed")) {
    const std::string text = speed->text();
    if (!text.starts_with(kPublished)) speed->fail("expected published:MODEL, or form and theta");
    const PublishedSpeeds points = published_speeds(text.substr(kPublished.size()));
    SpeedModel model =
        fit_speed(SpeedForm::kSync, points.batch, points.points, SpeedError::kRelative);
    // Only the fitted curve: a workload needs speeds for pairs that nobody measured.
    model.measured.clear();
    return std::make_shared<SpeedModel>(std::move(model));
  }
  auto model = std::make_shared<SpeedModel>();
  model->form = speed_form_from_name(job.at("form").text());
  for (const YamlView& item : job.at("theta").items()) {
    if (item.number() < 0) item.fail("expected 0 or more");
    model->theta.push_back(item.number());
  }
  if (model->theta.size() != num_coefficients(model->form)) {
    job.at("theta").fail(fmt::format("{} coefficients, expected {} for the {} form",
                                     model->theta.size(), num_coefficients(model->form),
                                     speed_form_name(model->form)));
  }
  model->batch = job.number_or("batch", 128);
  return model;
}

// Steps as given, or until the loss function falls by less than the threshold per epoch.
double read_steps(const YamlView& job) {
  const auto loss = job.find("loss");
  if (!loss) return job.at("steps").positive();
  loss->only({"beta", "threshold", "epoch_steps"});
  const std::vector<YamlView> beta = loss->at("beta").items();
  if (beta.size() != 3) loss->at("beta").fail("expected three coefficients");
  StageFit stage;
  stage.chosen.beta = {beta[0].number(), beta[1].number(), beta[2].number()};
  const auto epochs = convergence_k(stage, loss->number_or("threshold", 0.01));
  if (!epochs) loss->fail("the loss never falls by less than the threshold");
  return *epochs * loss->at("epoch_steps").positive();
}

// A job of a fixed number of devices, as traces of real clusters have them: no speed model, but a
// speed for each type of device.
Job read_gang(const YamlView& view, const Cluster& cluster) {
  Job job;
  job.rigid = true;
  for (const char* field : {"form", "theta", "speed", "loss", "worker", "server"}) {
    if (const auto other = view.find(field))
      other->fail("a gang, which has gpus, takes no such field");
  }
  job.gang = static_cast<int32_t>(view.at("gpus").count(1, kMostTasks));
  job.most_workers = job.gang;
  job.worker = {view.number_or("cpu", 0), 1, 0, 0};
  // A type that is not mentioned runs at 1.
  std::vector<double> speeds(cluster.types.size(), 1.0);
  if (const auto by_type = view.find("throughput")) {
    for (const auto& [type, value] : by_type->members()) {
      const auto found = std::find(cluster.types.begin(), cluster.types.end(), type);
      if (found == cluster.types.end()) value.fail("no nodes of this type");
      speeds[static_cast<size_t>(found - cluster.types.begin())] = value.positive();
    }
  }
  // Seconds on a device of speed 1, or steps if throughputs are steps per second.
  const double work =
      view.find("steps") ? view.at("steps").positive() : view.at("duration_s").positive();
  job.progress = std::make_shared<SteadyProgress>(work, speeds);
  return job;
}

Job read_job(const YamlView& view, const Cluster& cluster) {
  view.only({"id", "model", "arrival_s", "weight", "gpus", "duration_s", "cpu", "throughput",
             "steps", "loss", "speed", "form", "theta", "batch", "worker", "server", "most_workers",
             "most_servers", "workers"});
  Job job;
  if (view.find("gpus")) {
    job = read_gang(view, cluster);
  } else {
    job.worker = read_resources(view.at("worker"));
    if (const auto server = view.find("server")) job.server = read_resources(*server);
    job.most_workers = static_cast<int32_t>(view.count_or("most_workers", 16, 1, kMostTasks));
    job.most_servers = static_cast<int32_t>(
        view.count_or("most_servers", view.find("server") ? 16 : 0, 0, kMostTasks));
    job.gang = static_cast<int32_t>(view.count_or("workers", 4, 1, kMostTasks));
    job.gang = std::clamp(job.gang, 1, job.most_workers);
    job.progress = std::make_shared<SteadyProgress>(read_steps(view), read_speed(view));
  }
  job.id = view.at("id").text();
  job.model = view.text_or("model", job.id);
  job.arrival = view.number_or("arrival_s", 0);
  job.weight = view.number_or("weight", 1);
  if (!(job.arrival >= 0 && job.arrival <= kMostSeconds)) {
    view.at("arrival_s").fail(fmt::format("expected 0 to {:g}", kMostSeconds));
  }
  if (job.weight <= 0) view.at("weight").fail("expected more than 0");
  return job;
}

// The simulator takes jobs in the order of arrival; jobs of one moment stay in the order of the
// file.
void sort_jobs(Workload& workload) {
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
}

}  // namespace

Workload workload_from_yaml(std::string_view text, const std::string& origin) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  root.only({"cluster", "interval_s", "restart_s", "checkpoint_s", "failures", "jobs"});
  Workload workload;
  workload.name = std::filesystem::path(origin).stem().string();
  workload.cluster = read_cluster(root.at("cluster"));
  workload.options.interval = root.number_or("interval_s", 600);
  workload.options.restart_seconds = root.number_or("restart_s", 0);
  workload.options.checkpoint_seconds = root.number_or("checkpoint_s", 600);
  if (const auto failures = root.find("failures")) {
    for (const YamlView& item : failures->items()) {
      item.only({"node", "at_s", "until_s"});
      workload.options.failures.push_back(
          {static_cast<int32_t>(item.at("node").count(0, kMostNodes)), item.at("at_s").number(),
           item.at("until_s").number()});
    }
  }
  std::set<std::string> ids;
  for (const YamlView& item : root.at("jobs").items()) {
    workload.jobs.push_back(read_job(item, workload.cluster));
    if (!ids.insert(workload.jobs.back().id).second) item.at("id").fail("another job has this id");
  }
  TY_REQUIRE(!workload.jobs.empty(), "{}: no jobs", origin);
  sort_jobs(workload);
  return workload;
}

Workload workload_from_csv(std::string_view text, const std::string& origin,
                           const TableDefaults& defaults) {
  const CsvTable table = CsvTable::parse(text, origin);
  // Alibaba's traces have points in time, others a duration.
  const bool alibaba = table.has_column("deletion_time");
  if (alibaba) {
    table.require_columns({"num_gpu", "creation_time", "deletion_time"});
  } else {
    table.require_columns({"num_gpu", "submit_time", "duration"});
  }
  // Then waiting is not part of a task's time.
  const bool placed = table.has_column("scheduled_time");
  Workload workload;
  workload.name = std::filesystem::path(origin).stem().string();
  workload.cluster = Cluster::uniform(defaults.nodes, {0, defaults.gpus_per_node, 0, 0});
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    Job job;
    const int64_t devices = row.integer("num_gpu");
    if (devices == 0) continue;  // a task without devices
    if (devices < 0 || devices > kMostTasks) row.fail("num_gpu", "expected 0 or more, not as many");
    job.gang = static_cast<int32_t>(devices);
    job.arrival = row.number(alibaba ? "creation_time" : "submit_time");
    double duration = 0;
    if (alibaba) {
      const auto end = row.maybe_number("deletion_time");
      const auto begin =
          placed ? row.maybe_number("scheduled_time") : std::optional<double>(job.arrival);
      // Still running when the trace ended, never placed, or gone at once.
      if (!end || !begin || *end == *begin) continue;
      duration = *end - *begin;
    } else {
      duration = row.number("duration");
    }
    if (job.arrival < 0) row.fail(alibaba ? "creation_time" : "submit_time", "expected 0 or more");
    if (duration <= 0)
      row.fail(alibaba ? "deletion_time" : "duration", "expected a job that lasts");
    job.id = table.has_column("job_id") ? row.text("job_id") : fmt::format("{}", i);
    job.model = table.has_column("model_name") ? row.text("model_name") : "gang";
    job.rigid = true;
    job.most_workers = job.gang;
    job.worker = {0, 1, 0, 0};
    job.progress = std::make_shared<SteadyProgress>(duration, std::vector<double>{1});
    workload.jobs.push_back(std::move(job));
  }
  TY_REQUIRE(!workload.jobs.empty(), "{}: no jobs", origin);
  sort_jobs(workload);
  // No rounds: decisions are made whenever a job comes or goes.
  workload.options.interval = 0;
  return workload;
}

Workload load_workload(const std::string& name, const TableDefaults& defaults, uint64_t seed) {
  if (name.starts_with(kPublished)) {
    const std::string which = name.substr(kPublished.size());
    return workload_from_csv(published_jobs(which), which, defaults);
  }
  // A file may have a colon in its name; generators come second.
  const size_t colon = name.find(':');
  if (colon != std::string::npos && !std::filesystem::exists(name)) {
    const std::string kind = name.substr(0, colon);
    const std::vector<std::string> kinds = {"optimus", "gavel", "month"};
    int64_t jobs = 0;
    try {
      jobs = std::stoll(name.substr(colon + 1));
    } catch (const std::exception&) {
    }
    TY_REQUIRE(jobs >= 1 && jobs <= 10'000'000, "'{}': expected a number of jobs behind the colon",
               name);
    if (kind == "optimus") return optimus_workload(jobs, seed);
    if (kind == "gavel") return gavel_workload(jobs, seed);
    if (kind == "month") return month_workload(jobs, seed);
    throw_error("'{}': no generator '{}'.{} Known: {}", name, kind, did_you_mean(kind, kinds),
                join(kinds, ", "));
  }
  const std::string text = read_file(name);
  const std::string ending = std::filesystem::path(name).extension().string();
  if (ending == ".csv") {
    return defaults.applications.empty() ? workload_from_csv(text, name, defaults)
                                         : workload_from_pollux(text, name, defaults);
  }
  if (ending == ".trace") {
    TY_REQUIRE(!defaults.throughputs.empty(),
               "{}: a trace of Gavel counts steps; give the JSON file with the steps per second of "
               "its devices by `throughputs`",
               name);
    return workload_from_gavel(
        text, name, Json::parse(read_file(defaults.throughputs), defaults.throughputs), defaults);
  }
  return workload_from_yaml(text, name);
}

}  // namespace trainyard::schedule
