#include <algorithm>

#include <fmt/format.h>

#include "cluster/schedule/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

// More lanes than this cannot be told apart.
constexpr size_t kMostLanes = 40;
// Programs that read JSON want every job, but not millions of spans.
constexpr size_t kMostJobsWithSpans = 500;

// What a policy did, and the figures of it.
struct PolicyRow {
  const schedule::SimulationResult* result = nullptr;
  schedule::Summary summary;
};

Fields<schedule::JobResult> job_fields(bool spans) {
  using schedule::JobResult;
  using schedule::Span;
  Fields<JobResult> fields = {{"id", &JobResult::id},
                              {"model", &JobResult::model},
                              {"arrival", &JobResult::arrival},
                              {"start", &JobResult::start},
                              {"end", &JobResult::end},
                              {"jct", &JobResult::completion_time},
                              {"restarts", &JobResult::restarts},
                              {"preemptions", &JobResult::preemptions}};
  if (!spans) return fields;
  const Fields<Span> of_span = {{"begin", &Span::begin},
                                {"end", &Span::end},
                                {"servers", &Span::servers},
                                {"workers", &Span::workers}};
  fields.emplace_back("spans",
                      [of_span](const JobResult& job) { return objects_of(of_span, job.spans); });
  return fields;
}

Json jobs_json(const PolicyRow& row) {
  const bool spans = row.result->jobs.size() <= kMostJobsWithSpans;
  return objects_of(job_fields(spans), row.result->jobs);
}

Fields<PolicyRow> policy_fields() {
  using schedule::Summary;
  const auto least = [](std::string title) {
    return Column{std::move(title), Align::kRight, 0, "", Best::kLowest};
  };
  const Fields<Summary> figures = {
      {"avg_jct", least("average"), &Summary::average, seconds_cell},
      {"median_jct", least("median"), &Summary::median, seconds_cell},
      {"p95_jct", least("p95"), &Summary::p95, seconds_cell},
      {"p99_jct", least("p99"), &Summary::p99, seconds_cell},
      {"makespan", least("makespan"), &Summary::makespan, seconds_cell},
      {"queueing", least("queueing"), &Summary::queueing, seconds_cell},
      {"worst_fairness", least("worst fairness"), &Summary::worst_fairness, Fixed{2}},
      {"mean_fairness", &Summary::mean_fairness},
      {"utilization", {"used"}, &Summary::utilization, Percent()},
      {"restarts", {"restarts"}, &Summary::restarts},
      {"preemptions", &Summary::preemptions},
      {"restart_share", &Summary::restart_share},
      {"decision_s", {"decision"}, &Summary::decision, seconds_cell},
      {"longest_decision_s", &Summary::longest_decision}};
  Fields<PolicyRow> fields = {{"name",
                               {"policy", Align::kLeft, 0, "policy"},
                               [](const PolicyRow& row) { return row.result->policy; }}};
  fields = joined(fields, of_part<PolicyRow>(figures, &PolicyRow::summary));
  return joined<PolicyRow>(
      fields, {{"decisions", [](const PolicyRow& row) { return row.result->decisions; }},
               {"failures", [](const PolicyRow& row) { return row.result->failures; }},
               {"jobs", jobs_json}});
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

}  // namespace

// `results` in the order asked for, at least one.
Document schedule_document(const ScheduleContext& context,
                           std::span<const schedule::SimulationResult> results) {
  Document document;
  document.title = "Scheduling " + context.workload;
  document.lead = context.cluster;
  std::vector<PolicyRow> rows;
  for (const schedule::SimulationResult& result : results) {
    rows.push_back({&result, schedule::summarize(result)});
  }
  document.data = Json::object({{"workload", context.workload},
                                {"cluster", context.cluster},
                                {"policies", objects_of(policy_fields(), rows)}});
  document.blocks.emplace_back(table_of(policy_fields(), rows, Heads::kKeys));
  // Ratios to the best say more than the hours, which depend on the workload.
  const auto best = std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.summary.average < b.summary.average;
  });
  std::string words = fmt::format("{} has the least average completion time", best->result->policy);
  for (const PolicyRow& row : rows) {
    if (&row == &*best) continue;
    words += fmt::format("{} {:.2f} times as long under {} (makespan {:.2f})",
                         words.ends_with("time") ? ":" : ",",
                         row.summary.average / best->summary.average, row.result->policy,
                         row.summary.makespan / best->summary.makespan);
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
  Fields<Sensitivity> fields = {
      {"policy", {"policy", Align::kLeft}, &Sensitivity::policy},
      {"errors", [errors](const Sensitivity&) { return Json::array_of(errors); }},
      {"avg_jct", [](const Sensitivity& row) { return Json::array_of(row.average); }},
      {"makespan", [](const Sensitivity& row) { return Json::array_of(row.makespan); }}};
  for (size_t i = 0; i < errors.size(); ++i) {
    fields.emplace_back(
        "", Column{fmt::format("± {:g} %", errors[i] * 100)},
        [i](const Sensitivity& row) { return row.average[i]; }, seconds_cell);
  }
  document.data["sensitivity"] = objects_of(fields, rows);
  document.blocks.emplace_back(table_of(fields, rows));
}

Document decisions_document(std::span<const DecisionTime> rows) {
  Document document;
  document.title = "Time of a decision";
  const Fields<DecisionTime> fields = {
      {"policy", {"policy", Align::kLeft}, &DecisionTime::policy},
      {"jobs", {"jobs"}, &DecisionTime::jobs},
      {"tasks", {"tasks placed"}, &DecisionTime::tasks},
      {"nodes", {"nodes"}, &DecisionTime::nodes},
      {"seconds", {"time"}, &DecisionTime::seconds, seconds_cell},
      {"cpu_seconds", {"processor time"}, &DecisionTime::cpu_seconds, seconds_cell}};
  document.data["decisions"] = objects_of(fields, rows);
  document.blocks.emplace_back(table_of(fields, rows));
  return document;
}

}  // namespace trainyard::report
