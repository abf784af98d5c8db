#include "rl/agents/runs_view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "runs/metrics.h"
#include "runs/settings_view.h"

namespace trainyard::report {
namespace {

struct RlRun {
  std::filesystem::path directory;
  Settings settings;
  std::vector<Json> metrics = {};
};

std::optional<double> number_of(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  if (value == nullptr || !value->is_number()) return {};
  return value->as_number();
}

// The last line that has it.
std::optional<double> last_of(const RlRun& run, std::string_view key) {
  for (auto line = run.metrics.rbegin(); line != run.metrics.rend(); ++line) {
    if (const auto number = number_of(*line, key)) return number;
  }
  return {};
}

using Lines = std::vector<std::vector<Json>>;  // of the runs of a group

// Means over runs at each step that any of them has.
Series banded(const std::string& name, const Lines& runs, std::string_view key) {
  std::map<double, std::vector<double>> points;
  for (const std::vector<Json>& metrics : runs) {
    for (const Json& line : metrics) {
      if (const auto y = number_of(line, key)) points[line.at("step").as_number()].push_back(*y);
    }
  }
  Series series{name, Origin::kMeasured, {}};
  for (const auto& [step, values] : points) {
    double sum = 0;
    for (const double value : values) sum += value;
    ChartPoint point{.x = step, .y = sum / static_cast<double>(values.size())};
    if (values.size() > 1) {
      point.low = *std::ranges::min_element(values);
      point.high = *std::ranges::max_element(values);
    }
    series.points.push_back(point);
  }
  return series;
}

// Their steps come at other times, so that there is no mean.
Series against_time(const std::string& name, const std::vector<Json>& metrics) {
  Series series{name, Origin::kMeasured, {}};
  for (const Json& line : metrics) {
    const auto x = number_of(line, "seconds");
    const auto y = number_of(line, "return");
    if (x && y) series.points.push_back({.x = *x, .y = *y});
  }
  return series;
}

void add_chart(std::vector<Chart>& charts, Chart chart, std::vector<Series> series) {
  std::erase_if(series, [](const Series& one) { return one.points.size() < 2; });
  if (series.empty()) return;
  chart.series = std::move(series);
  charts.push_back(std::move(chart));
}

struct Curve {
  const char* title;
  const char* y;
  const char* key;
};
constexpr Curve kCurves[] = {
    {"Return of evaluations", "return", "evaluation"},
    {"Return in training, over the last 100 episodes", "return", "return"},
    {"Loss", "loss", "loss"},
    {"Values of actions taken", "Q", "q_value"},
    {"Share of random actions", "epsilon", "epsilon"},
    {"Age of what is learned from", "transitions", "replay_age"},
    {"Policy lag", "updates", "policy_lag"},
    {"Priority staleness", "updates", "priority_staleness"},
};

// What does not change how a run with all the same settings would learn, but for chance.
bool leaves_course(const std::string& setting) {
  return setting == "seed" || setting == "checkpoint_every" || setting == "device" ||
         setting == "threads";
}

// The settings that matter, as a key.
std::string course_of(const Settings& settings) {
  Json::Object members = settings.members();
  std::erase_if(members, [](const Json::Member& member) { return leaves_course(member.first); });
  return Json::object_of(std::move(members)).dump(-1);
}

RlRun read_rl_run(const std::filesystem::path& directory) {
  TY_REQUIRE(is_rl_run(directory),
             "{} is no run of reinforcement learning, and others are: report them apart",
             directory.string());
  const auto settings = open_settings(directory);
  for (const char* key : {"agent", "env", "seed"}) settings->root().at(key);
  RlRun run{directory, settings->json()};
  run.metrics = runs::read_metrics(directory / "metrics.jsonl");
  TY_REQUIRE(!run.metrics.empty(), "{}: no step is recorded yet; there is nothing to show",
             directory.string());
  return run;
}

// In the order in which they were given; each is called after its agent, or after its first run
// where agents are alike.
std::vector<RlGroup> groups_of(std::span<const RlRun> runs) {
  std::vector<RlGroup> groups;
  std::map<std::string, size_t> by_course;
  std::map<std::string, int> named;
  for (const RlRun& run : runs) {
    const auto [entry, is_new] = by_course.emplace(course_of(run.settings), by_course.size());
    if (is_new) {
      groups.push_back({text_of_setting(run.settings.at("agent")), {}});
      ++named[groups.back().name];
    }
    groups[entry->second].directories.push_back(run.directory);
  }
  for (RlGroup& group : groups) {
    if (named[group.name] > 1) group.name = name_of_run(group.directories[0]);
  }
  return groups;
}

Table runs_table(std::span<const RlRun> runs, Json& data) {
  Table table({{"run", Align::kLeft},
               {"environment", Align::kLeft},
               {"agent", Align::kLeft},
               {"seed"},
               {"steps"},
               {"episodes"},
               {"updates"},
               {"evaluation"},
               {"last 100"},
               {"time"}});
  const auto shown = [](const std::optional<double>& number, auto cell) {
    return number ? cell(*number) : Cell("-", "");
  };
  const auto count = [](double number) { return count_cell(std::llround(number)); };
  const auto fixed = [](double number) { return fixed_cell(number, 2); };
  for (const RlRun& run : runs) {
    const std::string name = name_of_run(run.directory);
    table.add_row({name, text_of_setting(run.settings.at("env")),
                   text_of_setting(run.settings.at("agent")),
                   text_of_setting(run.settings.at("seed")), shown(last_of(run, "step"), count),
                   shown(last_of(run, "episodes"), count), shown(last_of(run, "updates"), count),
                   shown(last_of(run, "evaluation"), fixed), shown(last_of(run, "return"), fixed),
                   shown(last_of(run, "seconds"), seconds_cell)});
    data.push_back(Json::object({{"name", name},
                                 {"config", run.settings},
                                 {"metrics", Json::array_of(run.metrics)},
                                 {"steps", last_of(run, "step")},
                                 {"evaluation", last_of(run, "evaluation")},
                                 {"return", last_of(run, "return")}}));
  }
  return table;
}

}  // namespace

std::vector<Chart> rl_charts(std::span<const RlGroup> groups) {
  std::vector<Lines> lines;
  for (const RlGroup& group : groups) {
    lines.emplace_back();
    for (const std::filesystem::path& directory : group.directories) {
      lines.back().push_back(runs::read_metrics(directory / "metrics.jsonl"));
    }
  }
  std::vector<Chart> charts;
  for (const Curve& curve : kCurves) {
    std::vector<Series> series;
    for (size_t i = 0; i < groups.size(); ++i) {
      series.push_back(banded(groups[i].name, lines[i], curve.key));
    }
    add_chart(charts, {.title = curve.title, .x = {.name = "steps"}, .y = {.name = curve.y}},
              std::move(series));
  }
  std::vector<Series> timed;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t run = 0; run < lines[i].size(); ++run) {
      const bool alone = lines[i].size() == 1;
      timed.push_back(against_time(alone ? groups[i].name : name_of_run(groups[i].directories[run]),
                                   lines[i][run]));
    }
  }
  add_chart(charts,
            {.title = "Return in training against time",
             .x = {.name = "seconds"},
             .y = {.name = "return"}},
            std::move(timed));
  return charts;
}

bool is_rl_run(const std::filesystem::path& directory) {
  return open_settings(directory)->root().find("agent").has_value();
}

Document rl_runs_document(std::span<const std::filesystem::path> directories) {
  std::vector<RlRun> runs;
  for (const std::filesystem::path& directory : directories) runs.push_back(read_rl_run(directory));
  Document document;
  document.title = runs.size() == 1 ? "Run " + name_of_run(directories[0])
                                    : fmt::format("{} runs of reinforcement learning", runs.size());
  Json list = Json::array();
  document.blocks.emplace_back(runs_table(runs, list));
  const std::vector<RlGroup> groups = groups_of(runs);
  if (groups.size() < runs.size()) {
    document.blocks.emplace_back(Paragraph{
        "Runs that differ in their seed alone are one line: their mean, from the lowest to the "
        "highest."});
  }
  for (Chart& chart : rl_charts(groups)) document.blocks.emplace_back(std::move(chart));
  if (runs.size() > 1) {
    std::vector<NamedSettings> named;
    for (const RlRun& run : runs) named.push_back({name_of_run(run.directory), run.settings});
    add_differences(document, named);
  }
  document.blocks.emplace_back(Provenance{
      .command = {}, .configuration = runs[0].settings, .machine = read_machine(directories[0])});
  document.data = Json::object({{"runs", std::move(list)}});
  return document;
}

}  // namespace trainyard::report
