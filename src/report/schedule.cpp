#include "report/schedule.h"

#include <algorithm>

#include <fmt/format.h>

namespace trainyard::report {
namespace {

// More lanes than this cannot be told apart.
constexpr size_t kMostLanes = 40;
// Programs that read JSON want every job, but not millions of spans.
constexpr size_t kMostJobsWithSpans = 500;

Json job_json(const schedule::JobResult& job, bool spans) {
  Json data = Json::object({{"id", job.id},
                            {"model", job.model},
                            {"arrival", job.arrival},
                            {"start", job.start},
                            {"end", job.end},
                            {"jct", job.completion_time()},
                            {"restarts", job.restarts},
                            {"preemptions", job.preemptions}});
  if (!spans) return data;
  Json list = Json::array();
  for (const schedule::Span& span : job.spans) {
    list.push_back(Json::object({{"begin", span.begin},
                                 {"end", span.end},
                                 {"servers", span.servers},
                                 {"workers", span.workers}}));
  }
  data["spans"] = std::move(list);
  return data;
}

Json policy_json(const schedule::SimulationResult& result, const schedule::Summary& summary) {
  Json jobs = Json::array();
  for (const schedule::JobResult& job : result.jobs) {
    jobs.push_back(job_json(job, result.jobs.size() <= kMostJobsWithSpans));
  }
  return Json::object({{"name", result.policy},
                       {"avg_jct", summary.average},
                       {"median_jct", summary.median},
                       {"p95_jct", summary.p95},
                       {"p99_jct", summary.p99},
                       {"makespan", summary.makespan},
                       {"queueing", summary.queueing},
                       {"worst_fairness", summary.worst_fairness},
                       {"mean_fairness", summary.mean_fairness},
                       {"utilisation", summary.utilization},
                       {"restarts", summary.restarts},
                       {"preemptions", summary.preemptions},
                       {"restart_share", summary.restart_share},
                       {"decisions", result.decisions},
                       {"decision_s", summary.decision},
                       {"longest_decision_s", summary.longest_decision},
                       {"failures", result.failures},
                       {"jobs", std::move(jobs)}});
}

// The distribution function: a curve further left is better at every percentile.
Chart distribution(std::span<const schedule::SimulationResult> results) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Share of jobs done within a time",
              .x = {"hours from arrival to end", true},
              .y = {"share of jobs"}};
  for (const schedule::SimulationResult& result : results) {
    std::vector<double> times;
    for (const schedule::JobResult& job : result.jobs)
      times.push_back(job.completion_time() / 3600);
    std::sort(times.begin(), times.end());
    Series series{.name = result.policy, .points = {}};
    // About a hundred points: a page need not carry a million.
    const size_t every = std::max<size_t>(1, times.size() / 100);
    for (size_t i = 0; i < times.size(); i += every) {
      series.points.push_back(
          {times[i], static_cast<double>(i + 1) / static_cast<double>(times.size())});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// The first jobs of the first policy: enough to see how it shares.
Chart gantt(const schedule::SimulationResult& result) {
  Chart chart{.kind = ChartKind::kTimeline,
              .title = "Who ran when, under " + result.policy,
              .x = {"hours"},
              .y = {"job"}};
  const size_t lanes = std::min(kMostLanes, result.jobs.size());
  Series waits{.name = "waits", .points = {}};
  Series runs{.name = "runs", .points = {}};
  for (size_t i = 0; i < lanes; ++i) {
    const schedule::JobResult& job = result.jobs[i];
    chart.y.categories.push_back(job.id);
    const auto lane = static_cast<double>(i);
    if (job.queueing() > 0) {
      waits.points.push_back(
          {.y = lane, .low = job.arrival / 3600, .high = job.start / 3600, .label = ""});
    }
    for (const schedule::Span& span : job.spans) {
      runs.points.push_back(
          {.y = lane,
           .low = span.begin / 3600,
           .high = span.end / 3600,
           .label = fmt::format("{} servers, {} workers", span.servers, span.workers)});
    }
  }
  // What runs is drawn first, so it has the first color.
  chart.series = {std::move(runs), std::move(waits)};
  if (lanes < result.jobs.size()) chart.caption = fmt::format("The first {} jobs.", lanes);
  return chart;
}

Table policy_table(std::span<const schedule::SimulationResult> results,
                   std::span<const schedule::Summary> summaries) {
  Table table({{"policy", Align::kLeft},
               {"average", Align::kRight, 0, "avg_jct", Best::kLowest},
               {"median", Align::kRight, 0, "median_jct", Best::kLowest},
               {"p95", Align::kRight, 0, "p95_jct", Best::kLowest},
               {"p99", Align::kRight, 0, "p99_jct", Best::kLowest},
               {"makespan", Align::kRight, 0, "makespan", Best::kLowest},
               {"queueing", Align::kRight, 0, "queueing", Best::kLowest},
               {"worst fairness", Align::kRight, 0, "worst_fairness", Best::kLowest},
               {"used", Align::kRight, 0, "utilization"},
               {"restarts"},
               {"decision", Align::kRight, 0, "decision_s"}});
  for (size_t i = 0; i < results.size(); ++i) {
    const schedule::Summary& s = summaries[i];
    table.add_row({results[i].policy, seconds_cell(s.average), seconds_cell(s.median),
                   seconds_cell(s.p95), seconds_cell(s.p99), seconds_cell(s.makespan),
                   seconds_cell(s.queueing), fixed_cell(s.worst_fairness, 2),
                   percent_cell(s.utilization), count_cell(s.restarts), seconds_cell(s.decision)});
  }
  return table;
}

}  // namespace

// `results` in the order asked for, at least one.
Document schedule_document(const ScheduleContext& context,
                           std::span<const schedule::SimulationResult> results) {
  Document document;
  document.title = "Scheduling " + context.workload;
  document.lead = context.cluster;
  std::vector<schedule::Summary> summaries;
  Json policies = Json::array();
  for (const schedule::SimulationResult& result : results) {
    summaries.push_back(schedule::summarize(result));
    policies.push_back(policy_json(result, summaries.back()));
  }
  document.data = Json::object({{"workload", context.workload},
                                {"cluster", context.cluster},
                                {"policies", std::move(policies)}});
  document.blocks.emplace_back(policy_table(results, summaries));
  // Ratios to the best say more than the hours, which depend on the workload.
  const auto best =
      std::min_element(summaries.begin(), summaries.end(),
                       [](const auto& a, const auto& b) { return a.average < b.average; });
  std::string words = fmt::format("{} has the least average completion time",
                                  results[static_cast<size_t>(best - summaries.begin())].policy);
  for (size_t i = 0; i < summaries.size(); ++i) {
    if (&summaries[i] == &*best) continue;
    words += fmt::format("{} {:.2f} times as long under {} (makespan {:.2f})",
                         words.ends_with("time") ? ":" : ",", summaries[i].average / best->average,
                         results[i].policy, summaries[i].makespan / best->makespan);
  }
  document.blocks.emplace_back(Paragraph{words + ".", Tone::kAnswer});
  for (const std::string& note : context.notes) document.blocks.emplace_back(Paragraph{note});
  document.blocks.emplace_back(distribution(results));
  document.blocks.emplace_back(gantt(results.front()));
  return document;
}

// `rows` have one number for each of `errors`.
void add_sensitivity(Document& document, std::span<const double> errors,
                     std::span<const Sensitivity> rows) {
  document.blocks.emplace_back(Heading{"Wrong estimates"});
  std::vector<Column> columns = {{"policy", Align::kLeft}};
  for (const double error : errors) columns.push_back({fmt::format("± {:g} %", error * 100)});
  Table table(columns);
  Json data = Json::array();
  for (const Sensitivity& row : rows) {
    std::vector<Cell> cells = {row.policy};
    for (const double average : row.average) cells.push_back(seconds_cell(average));
    table.add_row(std::move(cells));
    data.push_back(Json::object({{"policy", row.policy},
                                 {"errors", Json::array_of(errors)},
                                 {"avg_jct", Json::array_of(row.average)},
                                 {"makespan", Json::array_of(row.makespan)}}));
  }
  document.data["sensitivity"] = std::move(data);
  document.blocks.emplace_back(std::move(table));
}

Document decisions_document(std::span<const DecisionTime> rows) {
  Document document;
  document.title = "Time of a decision";
  Table table({{"policy", Align::kLeft},
               {"jobs"},
               {"tasks placed"},
               {"nodes"},
               {"time"},
               {"processor time"}});
  document.data["decisions"] = Json::array();
  for (const DecisionTime& row : rows) {
    table.add_row({row.policy, count_cell(row.jobs), count_cell(row.tasks), count_cell(row.nodes),
                   seconds_cell(row.seconds), seconds_cell(row.cpu_seconds)});
    document.data["decisions"].push_back(Json::object({{"policy", row.policy},
                                                       {"jobs", row.jobs},
                                                       {"tasks", row.tasks},
                                                       {"nodes", row.nodes},
                                                       {"seconds", row.seconds},
                                                       {"cpu_seconds", row.cpu_seconds}}));
  }
  document.blocks.emplace_back(std::move(table));
  return document;
}

}  // namespace trainyard::report
