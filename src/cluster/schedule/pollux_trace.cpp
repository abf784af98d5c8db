// Workloads of Pollux' simulator: a table of jobs, and beside it a folder with the tables of each
// application: placements.csv, scalability.csv and validation-BATCH.csv.
#include <algorithm>
#include <filesystem>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "cluster/schedule/simulator/goodput.h"
#include "cluster/schedule/workload.h"

namespace trainyard::schedule {
namespace {

namespace fs = std::filesystem;

CsvTable read_table(const fs::path& path) {
  return CsvTable::parse(read_file(path.string()), path.string());
}

double positive(const CsvRow& row, std::string_view column) {
  const double value = row.number(column);
  if (!(value > 0)) row.fail(column, "expected more than 0");
  return value;
}

int64_t positive_integer(const CsvRow& row, std::string_view column) {
  const int64_t value = row.integer(column);
  if (value < 1) row.fail(column, "expected 1 or more");
  return value;
}

StepSeconds step_of(const CsvRow& row) {
  const StepSeconds seconds{positive(row, "step_time"), row.number("sync_time")};
  if (seconds.second < 0 || seconds.second > seconds.first) {
    row.fail("sync_time", "expected 0 up to step_time");
  }
  return seconds;
}

void read_steps(const fs::path& folder, GoodputApplication& app) {
  const CsvTable placements = read_table(folder / "placements.csv");
  placements.require_columns({"placement", "local_bsz", "step_time", "sync_time"});
  app.least_local = INT64_MAX;
  app.most_local = 0;
  for (size_t i = 0; i < placements.size(); ++i) {
    const CsvRow row = placements.row(i);
    const std::string& placement = row.text("placement");
    if (placement.empty() || placement.find_first_not_of("123456789") != std::string::npos) {
      row.fail("placement", "expected the workers on each node, a digit each");
    }
    const int64_t local = positive_integer(row, "local_bsz");
    app.least_local = std::min(app.least_local, local);
    app.most_local = std::max(app.most_local, local);
    app.table.add_placement(placement, local, step_of(row));
  }
  TY_REQUIRE(app.most_local > 0, "{}: no rows", placements.origin());
  const CsvTable scalability = read_table(folder / "scalability.csv");
  scalability.require_columns({"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"});
  for (size_t i = 0; i < scalability.size(); ++i) {
    const CsvRow row = scalability.row(i);
    app.table.add_counts(positive_integer(row, "num_nodes"), positive_integer(row, "num_replicas"),
                         positive_integer(row, "local_bsz"), step_of(row));
  }
}

GoodputApplication::Recorded read_epochs(const CsvTable& table, std::vector<double>& progress) {
  table.require_columns({"progress", "iteration", "grad_sqr", "grad_var"});
  TY_REQUIRE(table.size() > 0, "{}: no rows", table.origin());
  GoodputApplication::Recorded recorded;
  double before = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    const double now = row.number("progress");
    if (!(now > before)) row.fail("progress", "expected more than in the row before");
    before = now;
    progress.push_back(now);
    recorded.iterations.push_back(positive(row, "iteration"));
    recorded.square.push_back(row.number("grad_sqr"));
    recorded.variance.push_back(row.number("grad_var"));
  }
  return recorded;
}

// validation-BATCH.csv, by batch.
std::map<int64_t, fs::path> validations(const fs::path& folder) {
  constexpr std::string_view kStem = "validation-";
  std::map<int64_t, fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    if (!stem.starts_with(kStem) || entry.path().extension() != ".csv") continue;
    const auto batch = parse_number<int64_t>(std::string_view(stem).substr(kStem.size()));
    TY_REQUIRE(batch && *batch >= 1, "{}: expected validation-BATCH.csv", entry.path().string());
    found[*batch] = entry.path();
  }
  TY_REQUIRE(!found.empty(), "{}: no validation-BATCH.csv", folder.string());
  return found;
}

// An epoch ends when the slowest of the recorded runs ended it; the shortest run says how many
// there are.
void read_validation(const fs::path& folder, GoodputApplication& app) {
  std::vector<std::vector<double>> runs;
  size_t epochs = SIZE_MAX;
  for (const auto& [batch, path] : validations(folder)) {
    app.by_batch[batch] = read_epochs(read_table(path), runs.emplace_back());
    epochs = std::min(epochs, runs.back().size());
  }
  app.epochs = static_cast<int64_t>(epochs);
  app.progress = {0.0};
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    double least = runs[0][epoch];
    for (const std::vector<double>& run : runs) least = std::min(least, run[epoch]);
    app.progress.push_back(least);
  }
  for (auto& [batch, recorded] : app.by_batch) recorded.completion_epoch = app.epochs - 1;
  app.init_batch = app.by_batch.begin()->first;
  app.most_batch = app.by_batch.rbegin()->first;
}

std::shared_ptr<GoodputApplication> read_pollux_application(const fs::path& folder) {
  auto app = std::make_shared<GoodputApplication>();
  read_steps(folder, *app);
  read_validation(folder, *app);
  // As the simulator itself sets it, whatever was measured.
  if (folder.filename() == "yolov3") app->most_local = std::min<int64_t>(app->most_local, 8);
  return app;
}

}  // namespace

Workload workload_from_pollux(std::string_view text, const std::string& origin,
                              const TableDefaults& defaults) {
  const CsvTable table = CsvTable::parse(text, origin);
  table.require_columns({"name", "time", "application", "num_replicas", "batch_size"});
  Workload workload;
  workload.name = fs::path(origin).stem().string();
  workload.cluster = Cluster::uniform(defaults.nodes, {0, defaults.gpus_per_node, 0, 0});
  std::map<std::string, std::shared_ptr<GoodputApplication>> applications;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    const std::string& name = row.text("application");
    if (!applications.contains(name)) {
      const fs::path folder = fs::path(defaults.applications) / name;
      if (name.find('/') != std::string::npos || !fs::is_directory(folder)) {
        row.fail("application", fmt::format("there is no folder {}", folder.string()));
      }
      applications[name] = read_pollux_application(folder);
    }
    const auto& app = applications.at(name);
    const int64_t batch = row.integer("batch_size");
    if (batch < app->init_batch || batch > app->most_batch) {
      row.fail("batch_size",
               fmt::format("recorded are {} to {}", app->init_batch, app->most_batch));
    }
    Job job;
    job.id = row.text("name");
    job.model = name;
    job.arrival = row.number("time");
    if (job.arrival < 0) row.fail("time", "expected 0 or more");
    job.worker = {0, 1, 0, 0};
    const int64_t gang = positive_integer(row, "num_replicas");
    // That simulator never gives ncf more than one.
    const int64_t most = name == "ncf" ? 1 : std::max<int64_t>(gang, batch / app->least_local);
    job.most_workers = static_cast<int32_t>(std::min<int64_t>(most, INT32_MAX));
    job.gang = static_cast<int32_t>(std::min<int64_t>(gang, job.most_workers));
    job.progress = std::make_shared<GoodputProgress>(app, batch);
    workload.jobs.push_back(std::move(job));
  }
  TY_REQUIRE(!workload.jobs.empty(), "{}: no jobs", origin);
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  workload.options.interval = 60;
  workload.options.restart_seconds = 30;
  return workload;
}

}  // namespace trainyard::schedule
