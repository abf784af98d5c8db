#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "data/image.h"
#include "data/image_grid.h"
#include "studies/view.h"

namespace trainyard::cli {
namespace {

using recipes::DistillCell;
using recipes::DistillResult;

// The first of equals.
const DistillCell& best_cell(const DistillResult& result) {
  return *std::max_element(
      result.cells.begin(), result.cells.end(),
      [](const DistillCell& a, const DistillCell& b) { return a.top1 < b.top1; });
}

std::string verdict(const recipes::DistillConfig& config, const DistillResult& result) {
  const DistillCell& best = best_cell(result);
  const double gain = best.top1 - result.supervised_top1;
  std::string text = fmt::format(
      "With {} labeled pictures {} alone gets {:.2f} % right, its teacher {:.2f} %. Pretrained on "
      "what the teacher chose of {} unlabeled ones (K = {}, P = {}), then fine-tuned, it gets "
      "{:.2f} %: {:+.2f} points.",
      with_commas(result.labeled), config.training.model, 100 * result.supervised_top1,
      100 * result.teacher_top1, with_commas(result.unlabeled), best.k, best.p, 100 * best.top1,
      100 * gain);
  if (result.cells.size() > 2) {
    std::vector<const DistillCell*> along;
    for (const DistillCell& cell : result.cells) {
      if (cell.p == best.p) along.push_back(&cell);
    }
    std::sort(along.begin(), along.end(), [](auto* a, auto* b) { return a->k < b->k; });
    // Only where the best lies inside: at an end nothing can be said about a fall.
    if (along.size() > 2 && along.front() != &best && along.back() != &best) {
      text += fmt::format(
          " Along K accuracy rises and falls: K = {} has {:.0f} % right labels but few pictures, "
          "K = {} many with {:.0f} %.",
          along.front()->k, 100 * along.front()->right, along.back()->k, 100 * along.back()->right);
    }
  }
  return text;
}

report::Table cells_table(const DistillResult& result) {
  report::Table table({{"student", report::Align::kLeft},
                       {"K"},
                       {"P"},
                       {"choices"},
                       {"pictures"},
                       {"fewest of a class"},
                       {"right labels"},
                       {"pretrained top-1"},
                       {"top-1", report::Align::kRight, 0, "", report::Best::kHighest},
                       {"time"}});
  table.add_row({"teacher", "-", "-", "-", "-", "-", report::percent_cell(result.teacher_right),
                 "-", report::percent_cell(result.teacher_top1, 2), "-"});
  table.add_row({"supervised", "-", "-", "-", "-", "-", "-", "-",
                 report::percent_cell(result.supervised_top1, 2), "-"});
  for (const DistillCell& cell : result.cells) {
    table.add_row({"distilled", report::count_cell(cell.k), report::count_cell(cell.p),
                   report::count_cell(cell.chosen), report::count_cell(cell.pictures),
                   report::count_cell(cell.fewest), report::percent_cell(cell.right),
                   report::percent_cell(cell.pretrained_top1, 2),
                   report::percent_cell(cell.top1, 2), report::seconds_cell(cell.seconds)});
  }
  return table;
}

report::Chart chart_of(const DistillResult& result) {
  report::Chart chart{.kind = report::ChartKind::kLine,
                      .title = "Accuracy against K",
                      .x = {.name = "K, pictures chosen for each class", .log = true},
                      .y = {.name = "top-1 %"}};
  std::map<int64_t, report::Series> by_p;
  double first = 1e300;
  double last = 0;
  // Horizontal lines over the same range as the curves.
  for (const DistillCell& cell : result.cells) {
    report::Series& series = by_p[cell.p];
    series.name = fmt::format("P = {}", cell.p);
    series.origin = report::Origin::kMeasured;
    series.points.push_back({static_cast<double>(cell.k), 100 * cell.top1});
    first = std::min(first, static_cast<double>(cell.k));
    last = std::max(last, static_cast<double>(cell.k));
  }
  for (auto& [p, series] : by_p) chart.series.push_back(std::move(series));
  const auto line = [&](const char* name, double top1) {
    chart.series.push_back({name,
                            report::Origin::kMeasured,
                            {{first, 100 * top1}, {last, 100 * top1}},
                            {},
                            /*dashed=*/true});
  };
  line("supervised", result.supervised_top1);
  line("teacher", result.teacher_top1);
  return chart;
}

// A row for each class, the pictures with the highest scores first.
report::Picture chosen_picture(const DistillResult& result, const DistillCell& cell) {
  std::map<int64_t, std::vector<recipes::Choice>> rows;
  size_t columns = 1;
  for (const recipes::Choice& choice : cell.shown) {
    rows[choice.label].push_back(choice);
    columns = std::max(columns, rows[choice.label].size());
  }
  data::ImageGrid sheet(static_cast<int64_t>(result.class_names.size()),
                        static_cast<int64_t>(columns), result.pool->shape());
  data::Pixels room;
  std::vector<std::string> words;
  for (const auto& [label, choices] : rows) {
    for (size_t i = 0; i < choices.size(); ++i) {
      sheet.place(label, static_cast<int64_t>(i), result.pool->pixels(choices[i].sample, room));
    }
    words.push_back(fmt::format("{} {:.3f} to {:.3f}",
                                result.class_names[static_cast<size_t>(label)],
                                choices.front().score, choices.back().score));
  }
  return {data::encode_png(sheet.image()),
          fmt::format("Chosen with K = {}, P = {}: a row for each class, the best {}; scores: {}.",
                      cell.k, cell.p, columns, join(words, ", "))};
}

Json cells_json(const DistillResult& result) {
  Json cells = Json::array();
  for (const DistillCell& cell : result.cells) {
    Json shown = Json::array();
    for (const recipes::Choice& choice : cell.shown) {
      shown.push_back(
          Json::object({{"picture", result.pool->sample_name(choice.sample)},
                        {"class", result.class_names[static_cast<size_t>(choice.label)]},
                        {"score", static_cast<double>(choice.score)}}));
    }
    cells.push_back(Json::object({{"k", cell.k},
                                  {"p", cell.p},
                                  {"chosen", cell.chosen},
                                  {"pictures", cell.pictures},
                                  {"fewest", cell.fewest},
                                  {"right", cell.right},
                                  {"pretrained_top1", cell.pretrained_top1},
                                  {"top1", cell.top1},
                                  {"seconds", cell.seconds},
                                  {"shown", std::move(shown)}}));
  }
  return cells;
}

}  // namespace

report::Document distill_document(const recipes::DistillConfig& config,
                                  const DistillResult& result) {
  const DistillCell& best = best_cell(result);
  report::Document document;
  document.title = fmt::format("{} with {} labeled pictures", config.training.model,
                               with_commas(result.labeled));
  document.blocks.emplace_back(report::Paragraph{verdict(config, result), report::Tone::kAnswer});
  document.blocks.emplace_back(cells_table(result));
  if (result.cells.size() > 1) document.blocks.emplace_back(chart_of(result));
  document.blocks.emplace_back(report::Heading{"What was chosen"});
  document.blocks.emplace_back(chosen_picture(result, best));
  document.data = Json::object(
      {{"labeled", result.labeled},
       {"unlabeled", result.unlabeled},
       {"teacher", Json::object({{"top1", result.teacher_top1}, {"right", result.teacher_right}})},
       {"supervised", Json::object({{"top1", result.supervised_top1}})},
       {"cells", cells_json(result)},
       {"best", Json::object({{"k", best.k}, {"p", best.p}, {"top1", best.top1}})}});
  return document;
}

}  // namespace trainyard::cli
