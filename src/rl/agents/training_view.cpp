// What `trainyard rl train`, evaluate and bench print.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "rl/agents/runs_view.h"
#include "rl/agents/view.h"

namespace trainyard::cli {
namespace {

using report::Align;

constexpr size_t kLargestTable = 4096;  // values of a table that are printed

Json evaluation_json(const rl::Evaluation& result) {
  return Json::object({{"episodes", static_cast<int64_t>(result.returns.size())},
                       {"mean", result.mean},
                       {"deviation", result.deviation},
                       {"median", result.median},
                       {"low", result.low},
                       {"high", result.high},
                       {"mean_steps", result.mean_steps},
                       {"reward_per_step", result.mean / result.mean_steps}});
}

Json priorities_json(const rl::RunResult& result) {
  Json bins = Json::array();
  for (const rl::PriorityBin& bin : result.priorities) {
    bins.push_back(Json::object({{"low", bin.low}, {"count", bin.count}}));
  }
  return bins;
}

// Rates are over the whole run, evaluations left out.
Json run_json(const SeedRun& run) {
  const rl::RunResult& r = run.result;
  Json evaluations = Json::array();
  for (const rl::EvaluationPoint& point : r.evaluations) {
    Json one = evaluation_json(point.result);
    one["step"] = point.step;
    one["seconds"] = point.seconds;
    evaluations.push_back(std::move(one));
  }
  return Json::object(
      {{"seed", run.seed},
       {"directory", run.directory},
       {"steps", r.steps},
       {"episodes", r.episodes},
       {"updates", r.updates},
       {"samples_per_update", r.batch},
       {"samples_per_transition", r.samples_per_transition},
       {"target_changes", r.target_changes},
       {"seconds", r.seconds},
       {"steps_per_s", static_cast<double>(r.steps) / r.seconds},
       {"updates_per_s", static_cast<double>(r.updates) / r.seconds},
       {"recent_return", r.recent_return},
       {"policy_lag", r.policy_lag},
       {"priority_staleness", r.priority_staleness},
       {"actor_steps_per_s", Json::array_of(r.actor_rates)},
       {"learner_seconds", Json::object({{"updates", r.learner_time.updates},
                                         {"parcels", r.learner_time.parcels},
                                         {"pulls", r.learner_time.pulls},
                                         {"waiting", r.learner_time.waiting}})},
       {"priorities", priorities_json(r)},
       {"average_reward", r.average_reward},
       {"table",
        r.table_values.size() <= kLargestTable ? Json::array_of(r.table_values) : Json::array()},
       {"stopped", r.stopped},
       {"evaluations", std::move(evaluations)}});
}

report::Table seeds_table(std::span<const SeedRun> runs) {
  report::Table table({{"seed"},
                       {"steps"},
                       {"episodes"},
                       {"updates"},
                       {"return"},
                       {"deviation"},
                       {"last 100"},
                       {"time"},
                       {"steps/s"},
                       {"updates/s"}});
  for (const SeedRun& run : runs) {
    const rl::RunResult& r = run.result;
    const bool evaluated = !r.evaluations.empty();
    const rl::Evaluation last = evaluated ? r.evaluations.back().result : rl::Evaluation{};
    table.add_row({report::count_cell(run.seed), report::count_cell(r.steps),
                   report::count_cell(r.episodes), report::count_cell(r.updates),
                   evaluated ? report::fixed_cell(last.mean, 2) : report::Cell(""),
                   evaluated ? report::fixed_cell(last.deviation, 2) : report::Cell(""),
                   std::isnan(r.recent_return) ? report::Cell("")  // no episode has ended
                                               : report::fixed_cell(r.recent_return, 2),
                   report::seconds_cell(r.seconds),
                   report::si_cell(static_cast<double>(r.steps) / r.seconds),
                   report::si_cell(static_cast<double>(r.updates) / r.seconds)});
  }
  return table;
}

// Of the first seed: seeds differ in chance, not in settings.
std::string counters(const rl::RlConfig& config, const rl::RunResult& r) {
  if (config.is_tabular()) return "Each step is one update of the table.";
  const std::string target =
      config.target_every == 0
          ? std::string("there is no target network")
          : fmt::format("the target network follows every {} updates ({} times)",
                        with_commas(config.target_every), with_commas(r.target_changes));
  return fmt::format("{} samples per update, {:.2f} per transition; {}.", r.batch,
                     r.samples_per_transition, target);
}

// Of the first seed.
void add_priorities(report::Document& document, const rl::RunResult& r) {
  if (r.priorities.empty()) return;
  report::Chart chart{.kind = report::ChartKind::kBar,
                      .title = "How likely transitions are to be learned from",
                      .x = {.name = "times as likely as uniformly"},
                      .y = {.name = "transitions"}};
  report::Series series{"at the end", report::Origin::kMeasured, {}};
  for (const rl::PriorityBin& bin : r.priorities) {
    series.points.push_back(
        {.x = static_cast<double>(chart.x.categories.size()), .y = static_cast<double>(bin.count)});
    chart.x.categories.push_back(fmt::format("{:.3g} to {:.3g}", bin.low, 2 * bin.low));
  }
  chart.series = {std::move(series)};
  document.blocks.emplace_back(std::move(chart));
}

// Who acts, how fast, and how old what they know is.
void add_actors(report::Document& document, const rl::RlConfig& config, const rl::RunResult& r) {
  if (r.actor_rates.empty()) return;
  report::Table table({{config.agent == "gorila" ? "learner and actor" : "actor"}, {"steps/s"}});
  for (size_t i = 0; i < r.actor_rates.size(); ++i) {
    table.add_row(
        {report::count_cell(static_cast<int64_t>(i) + 1), report::si_cell(r.actor_rates[i])});
  }
  document.blocks.emplace_back(std::move(table));
  std::string text = fmt::format(
      "The learner made {:.1f} updates/s. Policy lag: {:.1f} updates between the parameters used "
      "and those there were.",
      static_cast<double>(r.updates) / r.seconds, r.policy_lag);
  if (r.priority_staleness > 0) {
    text += fmt::format(
        " Priority staleness: {:.1f} updates between the making of a priority and "
        "its use.",
        r.priority_staleness);
  }
  document.blocks.emplace_back(report::Paragraph{std::move(text)});
  const rl::LearnerTime& t = r.learner_time;
  if (t.updates == 0) return;
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "Of its {:.1f} s the learner updated for {:.0f} %, took transitions for {:.0f} %, sent "
      "parameters for {:.0f} % and waited for actors for {:.0f} %.",
      r.seconds, 100 * t.updates / r.seconds, 100 * t.parcels / r.seconds,
      100 * t.pulls / r.seconds, 100 * t.waiting / r.seconds)});
}

}  // namespace

// `runs` has at least one; a document is that of one agent with several seeds.
report::Document training_document(const rl::RlConfig& config, std::span<const SeedRun> runs) {
  report::Document document;
  document.title = fmt::format("{} on {}", config.agent, config.env);
  document.lead = std::string(rl::agent_summary(config.agent)) + ".";
  document.data =
      Json::object({{"env", config.env}, {"agent", config.agent}, {"runs", Json::array()}});
  report::RlGroup group{config.agent, {}};
  for (const SeedRun& run : runs) {
    document.data["runs"].push_back(run_json(run));
    group.directories.emplace_back(run.directory);
  }
  document.blocks.emplace_back(seeds_table(runs));
  document.blocks.emplace_back(report::Paragraph{counters(config, runs.front().result)});
  add_actors(document, config, runs.front().result);
  for (report::Chart& chart : report::rl_charts({&group, 1})) {
    document.blocks.emplace_back(std::move(chart));
  }
  add_priorities(document, runs.front().result);
  document.blocks.emplace_back(
      report::Paragraph{fmt::format("Everything is in {}", runs.front().directory)});
  return document;
}

report::Document evaluation_document(const rl::RlConfig& config, const rl::Evaluation& result) {
  report::Document document;
  document.title = fmt::format("{} on {}", config.agent, config.env);
  document.data = evaluation_json(result);
  document.data["env"] = config.env;
  document.data["returns"] = Json::array_of(result.returns);
  report::Table table(
      {{"episodes"}, {"mean"}, {"deviation"}, {"median"}, {"95 % of the mean"}, {"steps"}});
  table.add_row({report::count_cell(static_cast<int64_t>(result.returns.size())),
                 report::fixed_cell(result.mean, 2), report::fixed_cell(result.deviation, 2),
                 report::fixed_cell(result.median, 2),
                 fmt::format("{:.2f} to {:.2f}", result.low, result.high),
                 report::fixed_cell(result.mean_steps, 1)});
  document.blocks.emplace_back(std::move(table));
  return document;
}

report::Document episode_document(const rl::RlConfig& config, const rl::PlayedEpisode& episode,
                                  const std::string& file, const data::Image& sheet) {
  report::Document document;
  document.title = fmt::format("An episode of {} on {}", config.agent, config.env);
  // An episode has at least one step.
  const double total = episode.steps.back().total;
  const char* end =
      episode.terminated ? "terminated" : (episode.truncated ? "timed out" : "cut off");
  document.data = Json::object({{"env", config.env},
                                {"return", total},
                                {"steps", static_cast<int64_t>(episode.steps.size())},
                                {"terminated", episode.terminated},
                                {"truncated", episode.truncated},
                                {"file", file},
                                {"trace", Json::array()}});
  for (const rl::PlayedStep& step : episode.steps) {
    document.data["trace"].push_back(Json::object(
        {{"action", step.action},
         {"reward", step.reward},
         {"values", Json::array_of(std::vector<double>(step.values.begin(), step.values.end()))}}));
  }
  document.blocks.emplace_back(
      report::Paragraph{fmt::format("Return {:.2f} in {} steps, {}. The pictures are in {}", total,
                                    episode.steps.size(), end, file)});
  document.blocks.emplace_back(
      report::Picture{data::encode_png(sheet),
                      "Steps of the episode; the bars are the values of the actions, the "
                      "chosen one in orange"});
  return document;
}

report::Document bench_document(const rl::RlConfig& config, const rl::BenchResult& result) {
  report::Document document;
  document.title = fmt::format("Speed of {} on {}", config.agent, config.env);
  document.data = Json::object({{"env", config.env},
                                {"agent", config.agent},
                                {"batch", result.batch},
                                {"hidden", config.hidden},
                                {"env_steps_per_s", result.env_steps_per_s},
                                {"act_steps_per_s", result.act_steps_per_s},
                                {"act_one_steps_per_s", result.act_one_steps_per_s},
                                {"updates_per_s", result.updates_per_s},
                                {"replay_samples_per_s", result.replay_samples_per_s},
                                {"priority_samples_per_s", result.priority_samples_per_s},
                                {"end_to_end_steps_per_s", result.end_to_end_steps_per_s},
                                {"core_share", result.core_share}});
  report::Table table({{"part", Align::kLeft}, {"per second"}});
  table.add_row({"steps of the environment alone", report::si_cell(result.env_steps_per_s)});
  table.add_row({"steps of acting, many copies together", report::si_cell(result.act_steps_per_s)});
  table.add_row({"steps of acting, one copy", report::si_cell(result.act_one_steps_per_s)});
  table.add_row({fmt::format("updates of {} transitions", result.batch),
                 report::si_cell(result.updates_per_s)});
  table.add_row({fmt::format("samples, {} replay of a million", config.replay),
                 report::si_cell(result.replay_samples_per_s)});
  table.add_row({"samples, proportional replay of a million",
                 report::si_cell(result.priority_samples_per_s)});
  table.add_row({"steps of training, end to end", report::si_cell(result.end_to_end_steps_per_s)});
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("By the clock on the wall, on one core; this process had {:.0f} % of it.",
                  100 * result.core_share)});
  return document;
}

}  // namespace trainyard::cli
