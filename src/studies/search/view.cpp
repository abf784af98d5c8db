#include "studies/search/view.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/shell.h"

namespace trainyard::cli {
namespace {

using recipes::SearchResult;
using recipes::Trial;

report::Cell trial_score_cell(const SearchResult& result, const Trial& trial) {
  const auto score = result.score_at(trial, trial.epochs());
  if (trial.failed || !score) return trial.failed ? "failed" : "-";
  return result.score == "loss" ? report::fixed_cell(*score, 4) : report::percent_cell(*score, 2);
}

// The best first; those without a score last.
std::vector<size_t> ranked(const SearchResult& result) {
  std::vector<size_t> order(result.trials.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto score = [&](size_t i) {
      const Trial& trial = result.trials[i];
      return trial.failed ? std::nullopt : result.score_at(trial, trial.epochs());
    };
    if (!score(a) || !score(b)) return score(a).has_value() && !score(b);
    return result.is_better(*score(a), *score(b));
  });
  return order;
}

report::Table trials_table(const SearchResult& result) {
  std::vector<report::Column> columns = {{"trial"}};
  for (const recipes::Dimension& d : result.space) columns.push_back({flag_of_setting(d.setting)});
  columns.push_back({result.score == "loss" ? "test loss" : "top-1"});
  columns.push_back({"epochs"});
  columns.push_back({"time"});
  report::Table table(std::move(columns));
  for (const size_t i : ranked(result)) {
    const Trial& trial = result.trials[i];
    std::vector<report::Cell> cells = {report::count_cell(trial.number)};
    for (const std::string& value : trial.point) cells.emplace_back(value);
    cells.push_back(trial_score_cell(result, trial));
    cells.push_back(report::count_cell(trial.epochs()));
    cells.push_back(report::seconds_cell(trial.seconds));
    table.add_row(std::move(cells));
  }
  return table;
}

// A line through all settings for each trial, the score last: places in the ranges, from 0 to 1.
report::Chart parallel_coordinates(const SearchResult& result) {
  constexpr size_t kMostLines = 24;
  constexpr size_t kGood = 3;
  report::Chart chart{.kind = report::ChartKind::kLine,
                      .title = "Settings and scores",
                      .x = {.name = "setting"},
                      .y = {.name = "place in its range"}};
  for (const recipes::Dimension& d : result.space) {
    const std::string low = d.choices.empty() ? d.at(0) : d.choices.front();
    const std::string high = d.choices.empty() ? d.at(1) : d.choices.back();
    chart.x.categories.push_back(
        fmt::format("{} {} to {}{}", flag_of_setting(d.setting), low, high, d.log ? " (log)" : ""));
  }
  chart.x.categories.emplace_back(result.score == "loss" ? "loss (low is up)" : "top-1");
  std::vector<size_t> order = ranked(result);
  std::erase_if(order, [&](size_t i) {
    const Trial& trial = result.trials[i];
    return trial.failed || !result.score_at(trial, trial.epochs());
  });
  if (order.empty()) return chart;
  const auto score = [&](size_t i) {
    return *result.score_at(result.trials[i], result.trials[i].epochs());
  };
  const double best = score(order.front());
  const double worst = score(order.back());
  for (size_t place = 0; place < std::min(order.size(), kMostLines); ++place) {
    const Trial& trial = result.trials[order[place]];
    report::Series series{fmt::format("trial {}", trial.number), report::Origin::kMeasured, {}};
    series.dashed = place >= kGood;
    for (size_t d = 0; d < trial.point.size(); ++d) {
      series.points.push_back({.x = static_cast<double>(d),
                               .y = result.space[d].share_of(trial.point[d]),
                               .label = trial.point[d]});
    }
    const double share = best == worst ? 1 : (score(order[place]) - worst) / (best - worst);
    series.points.push_back({.x = static_cast<double>(trial.point.size()), .y = share});
    chart.series.push_back(std::move(series));
  }
  chart.caption = fmt::format(
      "The best {} are drawn through.{}", std::min(kGood, order.size()),
      order.size() > kMostLines ? fmt::format(" The best {} trials are shown.", kMostLines) : "");
  return chart;
}

Json trials_json(const SearchResult& result) {
  Json rows = Json::array();
  for (const Trial& trial : result.trials) {
    Json row = Json::object({{"trial", trial.number}, {"epochs", trial.epochs()}});
    Json settings = Json::object({});
    for (size_t i = 0; i < trial.point.size(); ++i) {
      settings[result.space[i].setting] = trial.point[i];
    }
    row["settings"] = std::move(settings);
    const auto score = result.score_at(trial, trial.epochs());
    row[result.score.empty() ? "score" : result.score] = score ? Json(*score) : Json();
    row["seconds"] = trial.seconds;
    row["failed"] = trial.failed;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

report::Document search_document(const SearchResult& result, const std::filesystem::path& folder) {
  report::Document document;
  document.title = "Search over settings";
  int64_t whole = 0;
  for (const Trial& trial : result.trials) whole += trial.epochs() >= result.epochs ? 1 : 0;
  document.data = Json::object({{"trials", trials_json(result)},
                                {"trained_to_the_end", whole},
                                {"directory", folder.string()}});
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{} trials, {} of them trained to the end ({} epochs). Scores are the best of all epochs "
      "of a trial on the images that it is tested with: test the winner on others.",
      result.trials.size(), whole, result.epochs)});
  if (result.best) {
    const Trial& best = result.trials[*result.best];
    const std::filesystem::path run = folder / fmt::format("trial-{}", best.number);
    const std::string command = fmt::format("trainyard train --config {} --stop-epoch 0",
                                            shell_word((run / "config.yaml").string()));
    document.blocks.emplace_back(
        report::Paragraph{fmt::format("The best is trial {}, {}: {}", best.number,
                                      result.score == "loss" ? "test loss" : "top-1",
                                      trial_score_cell(result, best).text),
                          report::Tone::kAnswer});
    document.blocks.emplace_back(report::Paragraph{command, report::Tone::kCode});
    document.data["best_trial"] = best.number;
    document.data["best_run"] = run.string();
    document.data["command"] = command;
  }
  document.blocks.emplace_back(trials_table(result));
  if (result.best) document.blocks.emplace_back(parallel_coordinates(result));
  return document;
}

}  // namespace trainyard::cli
