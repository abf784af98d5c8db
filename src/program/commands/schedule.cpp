// `trainyard schedule`: a cluster full of jobs, simulated or for real.
#include <iostream>
#include <memory>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop_signals.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cluster/schedule/decision_time.h"
#include "cluster/schedule/live/live_jobs.h"
#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/view.h"
#include "cluster/schedule/workload.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct ScheduleOptions {
  std::string action;
  std::string workload;
  std::string policies = "optimus,drf,tetris,fifo,srtf";
  std::optional<int64_t> nodes;
  double gpus_per_node = 4;
  std::string throughputs;
  std::string applications;
  std::optional<double> interval;
  std::optional<double> restart;
  double speed_error = 0;
  double work_error = 0;
  std::vector<double> errors;
  int64_t seed = 1;
  int64_t jobs = 4000;
  int64_t slots = 2;
  std::string runs = "runs/schedule";
  report::Format format = report::Format::kText;
};

// Nodes of the first kind stand for all: most clusters have one.
std::string describe(const schedule::Workload& workload) {
  const schedule::Cluster& cluster = workload.cluster;
  std::vector<std::string> amounts;
  for (size_t r = 0; r < schedule::kNumResources; ++r) {
    const double amount = cluster.nodes.front().capacity[r];
    if (amount > 0) {
      amounts.push_back(fmt::format("{:g} {}", amount, schedule::resource_name(r)));
    }
  }
  const std::string types = cluster.types.size() > 1 ? " of " + join(cluster.types, ", ") : "";
  const std::string times = workload.options.interval > 0
                                ? fmt::format("decisions every {:g} s", workload.options.interval)
                                : std::string("decisions at arrivals and ends");
  return fmt::format("{} jobs on {} nodes{} ({} each); {}; a restart costs {:g} s",
                     with_commas(static_cast<int64_t>(workload.jobs.size())),
                     with_commas(static_cast<int64_t>(cluster.nodes.size())), types,
                     join(amounts, ", "), times, workload.options.restart_seconds);
}

schedule::Workload load(const ScheduleOptions& options) {
  TY_REQUIRE(options.throughputs.empty() || options.workload.ends_with(".trace"),
             "--throughputs go with a .trace file of Gavel, not with {}", options.workload);
  TY_REQUIRE(options.applications.empty() || options.workload.ends_with(".csv"),
             "--applications go with a .csv table of Pollux, not with {}", options.workload);
  schedule::TableDefaults defaults;
  defaults.gpus_per_node = options.gpus_per_node;
  defaults.throughputs = options.throughputs;
  defaults.applications = options.applications;
  if (options.nodes) defaults.nodes = static_cast<int32_t>(*options.nodes);
  schedule::Workload workload =
      schedule::load_workload(options.workload, defaults, static_cast<uint64_t>(options.seed));
  // A trace of Gavel has them already, of each device.
  if (options.nodes && !options.workload.ends_with(".trace")) {
    const schedule::Node first = workload.cluster.nodes.front();
    TY_REQUIRE(workload.cluster.types.size() == 1, "--nodes: the workload has nodes of {} types",
               workload.cluster.types.size());
    workload.cluster.nodes.assign(static_cast<size_t>(*options.nodes), first);
  }
  if (options.interval) workload.options.interval = *options.interval;
  if (options.restart) workload.options.restart_seconds = *options.restart;
  workload.options.speed_error = options.speed_error;
  workload.options.work_error = options.work_error;
  workload.options.seed = static_cast<uint64_t>(options.seed);
  return workload;
}

schedule::SimulationResult run_policy(const schedule::Workload& workload, const std::string& name) {
  const auto policy = schedule::make_policy(name);
  const Stopwatch watch;
  schedule::SimulationResult result =
      schedule::simulate(workload.cluster, workload.jobs, *policy, workload.options);
  std::cerr << fmt::format("{}: {} jobs, {} decisions in {}\n", name, result.jobs.size(),
                           result.decisions, seconds_text(watch.seconds()));
  return result;
}

int simulate_command(const ScheduleOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.workload.empty(),
             "schedule: the workload is missing: a file, or optimus:60, gavel:200, month:10000");
  const std::vector<std::string> names = split(options.policies, ',');
  // A wrong name is said before the first simulation, which may take minutes.
  for (const std::string& name : names) schedule::make_policy(name);
  schedule::Workload workload = load(options);
  report::ScheduleContext context;
  context.workload = workload.name;
  context.cluster = describe(workload);
  std::vector<schedule::SimulationResult> results;
  for (const std::string& name : names) results.push_back(run_policy(workload, name));
  report::Document document = report::schedule_document(context, results);
  if (!options.errors.empty()) {
    std::vector<report::Sensitivity> rows;
    for (const std::string& name : names) {
      report::Sensitivity row{.policy = name, .average = {}, .makespan = {}};
      for (const double error : options.errors) {
        workload.options.speed_error = workload.options.work_error = error;
        const schedule::Summary summary = schedule::summarize(run_policy(workload, name));
        row.average.push_back(summary.average);
        row.makespan.push_back(summary.makespan);
      }
      rows.push_back(std::move(row));
    }
    report::add_sensitivity(document, options.errors, rows);
  }
  out << report::render(document, options.format);
  return 0;
}

int list_command(const ScheduleOptions& options, std::ostream& out) {
  report::Document document;
  report::Table table({{"policy", report::Align::kLeft}, {"what it does", report::Align::kLeft}});
  document.data["policies"] = Json::array();
  for (const schedule::PolicyEntry& entry : schedule::all_policies()) {
    table.add_row({entry.name, entry.summary});
    document.data["policies"].push_back(
        Json::object({{"name", entry.name}, {"summary", entry.summary}}));
  }
  document.blocks.emplace_back(std::move(table));
  out << report::render(document, options.format);
  return 0;
}

int decide_command(const ScheduleOptions& options, std::ostream& out) {
  std::vector<report::DecisionTime> rows;
  const int64_t nodes = options.nodes.value_or(4 * options.jobs);
  for (const std::string& name : split(options.policies, ',')) {
    const schedule::DecisionMeasure measure = schedule::measure_decision(name, options.jobs, nodes);
    rows.push_back(
        {name, options.jobs, measure.tasks, nodes, measure.seconds, measure.cpu_seconds});
  }
  out << report::render(report::decisions_document(rows), options.format);
  return 0;
}

// Real trainings, one policy after another, each in a folder of its own.
int run_command(const ScheduleOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.workload.empty(), "schedule run: the YAML file with the jobs is missing");
  const schedule::LivePlan plan =
      schedule::read_live_plan(read_file(options.workload), options.workload);
  const std::vector<std::string> names = split(options.policies, ',');
  for (const std::string& name : names) schedule::make_policy(name);
  const StopSignals signals;
  std::vector<schedule::SimulationResult> results;
  for (const std::string& name : names) {
    schedule::LiveOptions live;
    live.program = path_of_this_program();
    live.folder = std::filesystem::path(options.runs) / name;
    live.slots = static_cast<int32_t>(options.slots);
    live.note = [&](const std::string& line) { std::cerr << name << ": " << line << "\n"; };
    live.should_stop = [&] { return signals.requested(); };
    const auto policy = schedule::make_policy(name);
    results.push_back(schedule::run_live(plan, *policy, live));
  }
  report::ScheduleContext context;
  context.workload = options.workload;
  context.cluster = fmt::format("{} trainings for real on {} slots of this machine",
                                plan.jobs.size(), options.slots);
  out << report::render(report::schedule_document(context, results), options.format);
  return 0;
}

int schedule_command(const ScheduleOptions& given, std::ostream& out) {
  if (given.action == "policies" || given.action == "decide") {
    TY_REQUIRE(given.workload.empty(), "schedule {} takes no WORKLOAD, got '{}'", given.action,
               given.workload);
    return given.action == "decide" ? decide_command(given, out) : list_command(given, out);
  }
  if (given.action == "run") return run_command(given, out);
  ScheduleOptions options = given;
  // Any other word is the workload of a simulation, unless there is a second word: then it was
  // meant as an action.
  if (options.action != "simulate") {
    TY_REQUIRE(options.workload.empty(),
               "schedule: '{}' is not one of simulate, run, policies, decide.{}", options.action,
               did_you_mean(options.action,
                            std::vector<std::string>{"simulate", "run", "policies", "decide"}));
    options.workload = options.action;
  }
  return simulate_command(options, out);
}

Runner setup_schedule(Args& args) {
  auto options = std::make_shared<ScheduleOptions>();
  args.positional("ACTION", options->action,
                  "simulate (or the workload at once), run, policies or decide");
  args.optional_positional(
      "WORKLOAD", options->workload,
      "a YAML, CSV or Gavel .trace file, or optimus:60, gavel:200, month:10000; run: a YAML "
      "file of trainings");
  args.option("--policies", options->policies,
              "scheduling policies, separated by commas; see 'schedule policies'");
  args.option("--nodes", options->nodes, "number of nodes (default: the workload's)",
              between(1, 10'000'000));
  args.option("--gpus-per-node", options->gpus_per_node,
              "GPUs per node, for tables that do not say", above(0, 1024));
  args.option("--throughputs", options->throughputs,
              "for a Gavel .trace: JSON file with steps per second by device");
  args.option("--applications", options->applications,
              "for a Pollux CSV table: folder with the measured tables of its applications");
  args.option("--interval", options->interval,
              "seconds between decisions; 0: when jobs arrive or end (default: the workload's)");
  args.option("--restart", options->restart, "seconds a job loses after each change");
  args.option("--speed-error", options->speed_error, "relative error of estimated speeds");
  args.option("--work-error", options->work_error, "relative error of estimated work");
  args.option("--errors", options->errors, "compare these values of both errors, as 0,0.1,0.2");
  args.option("--seed", options->seed, "random seed of generators and errors", at_least(0));
  args.option("--jobs", options->jobs, "decide: number of jobs, on 4 times as many nodes",
              between(1, 100'000));
  args.option("--slots", options->slots, "run: workers that run at the same time",
              between(1, 1024));
  args.option("--runs-dir", options->runs, "run: folder for runs and journals, by policy");
  // `schedule WORKLOAD` is a simulation.
  const auto action = [options]() -> std::string {
    const std::string& word = options->action;
    return word == "run" || word == "policies" || word == "decide" ? word : "simulate";
  };
  args.own_flags(action, {{{"simulate", "run", "decide"}, {"policies"}},
                          {{"simulate", "decide"}, {"nodes"}},
                          {{"simulate"},
                           {"gpus-per-node", "throughputs", "applications", "interval", "restart",
                            "speed-error", "work-error", "errors", "seed"}},
                          {{"decide"}, {"jobs"}},
                          {{"run"}, {"slots", "runs-dir"}}});
  args.format(options->format);
  return [options](std::ostream& out) { return schedule_command(*options, out); };
}

}  // namespace

extern const Command kSchedule = {
    .name = "schedule",
    .group = "Plan",
    .summary = "Simulate a cluster's jobs under Optimus, DRF, Tetris, Tiresias, Gavel and others",
    .examples =
        "  trainyard schedule optimus:60 --policies optimus,drf,tetris\n"
        "  trainyard schedule simulate trace.csv --policies gang-fifo,tiresias --nodes 8\n"
        "  trainyard schedule gavel:100 --policies gavel-las,gavel-makespan,gang-fifo\n"
        "  trainyard schedule jobs.trace --throughputs throughputs.json --policies gavel-las\n"
        "  trainyard schedule workload-6.csv --applications traces --policies optimus-pollux\n"
        "  trainyard schedule optimus:60 --policies optimus,srtf --errors 0,0.1,0.2,0.4\n"
        "  trainyard schedule run jobs.yaml --slots 2 --policies optimus,fifo\n"
        "  trainyard schedule policies\n"
        "  trainyard schedule decide --policies optimus --jobs 4000 --nodes 16000\n",
    .setup = setup_schedule,
};

}  // namespace trainyard::cli
