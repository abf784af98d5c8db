#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "data/image.h"
#include "data/image_grid.h"
#include "studies/view.h"

namespace trainyard::cli {
namespace {

using recipes::TransferRun;

constexpr int64_t kShownClasses = 2;
constexpr int64_t kShownOfEach = 2;

std::string name_of(const TransferRun& run) {
  return fmt::format("{} {}", run.mode, run.rate);
}

report::Table runs_table(const recipes::TransferResult& result) {
  report::Table table({{.name = "mode", .align = report::Align::kLeft},
                       {.name = "rate"},
                       {.name = "best top-1", .key = "best_top1", .best = report::Best::kHighest},
                       {.name = "last top-1", .key = "last_top1"},
                       {.name = "epoch", .key = "epoch_s"},
                       {.name = "forward", .key = "forward_s"},
                       {.name = "backward", .key = "backward_s"},
                       {.name = "update", .key = "update_s"},
                       {.name = "trained", .key = "trained_parameters"}});
  for (const TransferRun& run : result.runs) {
    std::vector<report::Cell> cells = {
        run.mode + (run.cached ? " (cached)" : ""),
        fmt::format("{}", run.rate),
        report::percent_cell(run.best_top1, 2),
        run.diverged ? report::Cell("diverged", "") : report::percent_cell(run.last_top1, 2),
        report::seconds_cell(run.seconds_per_epoch()),
        report::seconds_cell(run.forward_ms / 1e3),
        report::seconds_cell(run.backward_ms / 1e3),
        report::seconds_cell(run.update_ms / 1e3),
        report::si_cell(static_cast<double>(run.trained_parameters))};
    run.diverged ? table.add_struck_row(std::move(cells)) : table.add_row(std::move(cells));
  }
  return table;
}

report::Chart curves(const recipes::TransferResult& result) {
  report::Chart chart;
  chart.title = "Accuracy on the test set";
  chart.x.name = "epoch";
  chart.y.name = "top-1 (%)";
  for (const TransferRun& run : result.runs) {
    report::Series series{.name = name_of(run), .origin = report::Origin::kMeasured, .points = {}};
    for (const recipes::TransferEpoch& epoch : run.epochs) {
      series.points.push_back({.x = static_cast<double>(epoch.epoch), .y = 100 * epoch.top1});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

// The first run of a mode that came to its end.
const TransferRun* find_run(const recipes::TransferResult& result, const std::string& mode) {
  const auto found = std::find_if(result.runs.begin(), result.runs.end(), [&](const auto& run) {
    return run.mode == mode && !run.epochs.empty();
  });
  return found == result.runs.end() ? nullptr : &*found;
}

// Where the time of a frozen backbone goes, beside that of fine-tuning.
void explain_speed(const recipes::TransferResult& result, report::Document& document) {
  const TransferRun* all = find_run(result, "finetune");
  const TransferRun* frozen = find_run(result, "features");
  if (all == nullptr || frozen == nullptr) return;
  const double ratio = all->seconds_per_epoch() / frozen->seconds_per_epoch();
  std::string text = fmt::format(
      "An epoch of features takes {} and one of finetune {}, {:.3g} times as long. A step of "
      "finetune is {:.3g} ms forward, {:.3g} ms backward and {:.3g} ms of update; one of features "
      "{:.3g}, {:.3g} and {:.3g} ms: gradients and updates of frozen layers are not computed",
      seconds_text(frozen->seconds_per_epoch()), seconds_text(all->seconds_per_epoch()), ratio,
      all->forward_ms, all->backward_ms, all->update_ms, frozen->forward_ms, frozen->backward_ms,
      frozen->update_ms);
  text += frozen->cached
              ? ", and neither is the forward pass, since what the frozen layers see in each "
                "picture was computed once."
              : ".";
  if (result.features_seconds > 0) {
    text += fmt::format(" Computing (or reading) these features took {}.",
                        seconds_text(result.features_seconds));
  }
  document.blocks.emplace_back(report::Paragraph{text});
}

// `counts` goes into the JSON too.
report::Table class_table_of_target(const data::Dataset& set, std::vector<int64_t>& counts) {
  counts.assign(static_cast<size_t>(set.num_classes()), 0);
  for (int64_t i = 0; i < set.size(); ++i) ++counts[static_cast<size_t>(set.label(i))];
  report::Table table({{.name = "class", .align = report::Align::kLeft}, {.name = "pictures"}});
  for (size_t i = 0; i < counts.size(); ++i) {
    table.add_row({set.class_names()[i], report::count_cell(counts[i])});
  }
  return table;
}

// The first pictures of the first classes, to see that labels fit.
report::Picture samples(const data::Dataset& set) {
  const data::PictureShape shape =
      set.shape().is_fixed() ? set.shape() : data::PictureShape{set.shape().channels, 128, 128};
  data::ImageGrid sheet(std::min(kShownClasses, set.num_classes()), kShownOfEach, shape);
  std::vector<std::string> names;
  data::Pixels room;
  for (int64_t c = 0; c < std::min(kShownClasses, set.num_classes()); ++c) {
    names.push_back(set.class_names()[static_cast<size_t>(c)]);
    int64_t shown = 0;
    for (int64_t i = 0; i < set.size() && shown < kShownOfEach; ++i) {
      if (set.label(i) == c) sheet.place(c, shown++, set.pixels(i, room));
    }
  }
  return {data::encode_png(sheet.image()), "Rows: " + join(names, ", ")};
}

Json run_json(const TransferRun& run) {
  Json epochs = Json::array();
  for (const recipes::TransferEpoch& epoch : run.epochs) {
    epochs.push_back(Json::object({{"epoch", epoch.epoch},
                                   {"train_loss", epoch.train_loss},
                                   {"top1", epoch.top1},
                                   {"train_s", epoch.seconds}}));
  }
  return Json::object({{"mode", run.mode},
                       {"rate", run.rate},
                       {"best_top1", run.best_top1},
                       {"last_top1", run.last_top1},
                       {"epoch_s", run.seconds_per_epoch()},
                       {"forward_ms", run.forward_ms},
                       {"backward_ms", run.backward_ms},
                       {"update_ms", run.update_ms},
                       {"trained_parameters", run.trained_parameters},
                       {"cached", run.cached},
                       {"diverged", run.diverged},
                       {"was_there", run.was_there},
                       {"folder", run.folder.string()},
                       {"epochs", std::move(epochs)}});
}

}  // namespace

report::Document transfer_document(const recipes::TransferConfig& config,
                                   const recipes::TransferResult& result,
                                   const data::Dataset& training) {
  report::Document document;
  document.title = fmt::format("{} to {}", config.training.model, training.source());
  document.blocks.emplace_back(runs_table(result));
  const TransferRun& winner = result.runs[result.winner];
  document.blocks.emplace_back(report::Paragraph{
      fmt::format(
          "The best of {}: {} at rate {}, {:.2f} % of the test pictures. Run and epoch were "
          "chosen on these pictures, which flatters the figure.",
          result.runs.size(), winner.mode, winner.rate, 100 * winner.best_top1),
      report::Tone::kAnswer});
  explain_speed(result, document);
  document.blocks.emplace_back(curves(result));
  std::vector<int64_t> counts;
  document.blocks.emplace_back(class_table_of_target(training, counts));
  document.blocks.emplace_back(samples(training));
  Json runs = Json::array();
  for (const TransferRun& run : result.runs) runs.push_back(run_json(run));
  document.data = Json::object({{"model", config.training.model},
                                {"data", training.source()},
                                {"preprocessing", result.steps},
                                {"parameters", result.parameters},
                                {"features_s", result.features_seconds},
                                {"runs", std::move(runs)},
                                {"winner", run_json(winner)},
                                {"class_counts", Json::array_of(counts)}});
  return document;
}

}  // namespace trainyard::cli
