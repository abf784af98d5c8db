#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "studies/view.h"

namespace trainyard::cli {
namespace {

using recipes::Spread;
using recipes::TtaRun;
using recipes::TtaSummary;

Json maybe(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json runs_json(const std::vector<TtaRun>& runs) {
  Json list = Json::array();
  for (const TtaRun& run : runs) {
    list.push_back(Json::object({{"name", run.name},
                                 {"seed", run.seed},
                                 {"reached", run.reached},
                                 {"seconds", run.seconds},
                                 {"epochs", run.epochs},
                                 {"best_top1", run.best_top1}}));
  }
  return list;
}

// Censored runs ended before the target. A mean over the others alone is too small, so the bound
// that counts them at their end stands beside it.
Json summary_json(const TtaSummary& summary) {
  return Json::object({{"runs", runs_json(summary.runs)},
                       {"reached", summary.reached},
                       {"censored", static_cast<int64_t>(summary.runs.size()) - summary.reached},
                       {"mean_s", summary.reached > 0 ? Json(summary.seconds.mean) : Json()},
                       {"std_s", maybe(summary.seconds.deviation)},
                       {"cv", maybe(summary.seconds.cv)},
                       {"cv_low", maybe(summary.seconds.cv_low)},
                       {"cv_high", maybe(summary.seconds.cv_high)},
                       {"mean_at_least_s", summary.mean_at_least_s},
                       {"mean_epochs", summary.reached > 0 ? Json(summary.epochs.mean) : Json()},
                       {"epochs_cv", maybe(summary.epochs.cv)},
                       {"epochs_cv_low", maybe(summary.epochs.cv_low)},
                       {"epochs_cv_high", maybe(summary.epochs.cv_high)}});
}

report::Table runs_table(const TtaSummary& summary) {
  report::Table table({{"run", report::Align::kLeft},
                       {"reached", report::Align::kLeft},
                       {"time"},
                       {"epochs"},
                       {"best top-1"}});
  for (const TtaRun& run : summary.runs) {
    table.add_row({run.name, run.reached ? "yes" : "no", report::seconds_cell(run.seconds),
                   report::fixed_cell(run.epochs, run.epochs == std::floor(run.epochs) ? 0 : 1),
                   report::percent_cell(run.best_top1, 2)});
  }
  return table;
}

// Of a spread with a cv, so of two values at least.
std::string interval_text(const Spread& spread) {
  const auto end = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.1f}", 100 * *value) : std::string("open");
  };
  return fmt::format("{:.1f} % (95 % interval {} to {})", 100 * *spread.cv, end(spread.cv_low),
                     end(spread.cv_high));
}

std::string summary_text(const TtaSummary& summary, double target) {
  const auto all = static_cast<int64_t>(summary.runs.size());
  std::string text =
      fmt::format("{} of {} runs reached {:g} %", summary.reached, all, 100 * target);
  if (summary.reached == 0)
    return text + ": no time can be given; lower the target or train longer.";
  text += fmt::format(", after {} and {:.1f} epochs on average", seconds_text(summary.seconds.mean),
                      summary.epochs.mean);
  if (summary.seconds.cv) {
    text += fmt::format(". Coefficient of variation of the time {}, of the epochs {}",
                        interval_text(summary.seconds), interval_text(summary.epochs));
  }
  if (summary.reached < all) {
    text += fmt::format(
        ". {} did not get there and are left out of mean and variation, which makes both too "
        "small: counted as if they had arrived at their end, the mean is {}, and the true one "
        "above",
        all - summary.reached, seconds_text(summary.mean_at_least_s));
  }
  return text + ".";
}

// Against the clock, not epochs: time is what is compared.
report::Chart curves(const std::vector<recipes::TrainingLog>& logs, double target) {
  report::Chart chart{.kind = report::ChartKind::kLine,
                      .title = "Accuracy against time",
                      .x = {.name = "seconds since the start"},
                      .y = {.name = "top-1 %"}};
  double end = 0;
  for (const recipes::TrainingLog& log : logs) {
    report::Series series{log.name, report::Origin::kMeasured, {}};
    for (const recipes::LogPoint& point : log.points) {
      series.points.push_back({point.seconds, 100 * point.accuracy});
      end = std::max(end, point.seconds);
    }
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back(
      {"target", report::Origin::kIdeal, {{0, 100 * target}, {end, 100 * target}}});
  return chart;
}

// MLPerf's dozens of entries are one row; the others have a row each.
void add_comparison(const TtaFindings& findings, report::Document& document) {
  const std::vector<recipes::PublishedVariation> published = recipes::published_variations();
  std::vector<double> mlperf;
  report::Table table({{"", report::Align::kLeft},
                       {"task", report::Align::kLeft},
                       {"runs"},
                       {"variation"},
                       {"95 % interval"},
                       {"source", report::Align::kLeft, 60}});
  const auto add = [&](const std::string& name, const std::string& task,
                       const TtaSummary& summary) {
    if (!summary.seconds.cv) return;
    const auto end = [](const std::optional<double>& v) {
      return v ? fmt::format("{:.1f}", 100 * *v) : std::string("open");
    };
    table.add_row(
        {name, task, report::count_cell(summary.reached), report::percent_cell(*summary.seconds.cv),
         end(summary.seconds.cv_low) + " to " + end(summary.seconds.cv_high), "measured"});
  };
  add("ours", "", findings.ours);
  for (const ImportedLogs& one : findings.imported) add(one.file, "", one.summary);
  for (const recipes::PublishedVariation& one : published) {
    if (one.task.starts_with("MLPerf")) {
      mlperf.push_back(one.cv);
      continue;
    }
    table.add_row({one.entry, one.task, one.runs ? report::count_cell(*one.runs) : "-",
                   report::percent_cell(one.cv), "-", "published: " + one.source});
  }
  // The catalog has such entries, which published_variations checks.
  std::sort(mlperf.begin(), mlperf.end());
  table.add_row(
      {"median of MLPerf's ResNet-50 entries", "ImageNet",
       report::count_cell(static_cast<int64_t>(mlperf.size())),
       report::percent_cell(mlperf[mlperf.size() / 2]),
       fmt::format("{:.2f} to {:.1f} (least, most)", 100 * mlperf.front(), 100 * mlperf.back()),
       "published logs of rounds 0.5 to 0.7; accepted runs alone"});
  document.blocks.emplace_back(report::Heading{"Beside published variation"});
  document.blocks.emplace_back(std::move(table));
  Json list = Json::array();
  for (const recipes::PublishedVariation& one : published) {
    list.push_back(Json::object({{"entry", one.entry},
                                 {"task", one.task},
                                 {"cv", one.cv},
                                 {"reached", one.reached ? Json(*one.reached) : Json()},
                                 {"source", one.source}}));
  }
  document.data["published"] = std::move(list);
}

// The most votes first; counts are negated to sort ties by name.
std::string votes_text(const recipes::PictureVotes& picture,
                       const std::vector<std::string>& names) {
  std::vector<std::pair<int64_t, std::string>> votes;
  for (size_t c = 0; c < names.size(); ++c) {
    if (picture.votes[c] > 0) votes.emplace_back(-picture.votes[c], names[c]);
  }
  std::sort(votes.begin(), votes.end());
  std::vector<std::string> words;
  for (const auto& [count, name] : votes) words.push_back(fmt::format("{} {}", -count, name));
  return join(words, ", ");
}

void add_generalization(const TtaFindings& findings, report::Document& document) {
  const recipes::Generalization& found = *findings.generalization;
  document.blocks.emplace_back(report::Heading{"On pictures from elsewhere"});
  std::string text = fmt::format("{} networks on {} pictures: top-1 {:.1f} % on average",
                                 found.top1.size(), found.pictures.size(), 100 * found.spread.mean);
  if (found.spread.deviation) {
    text += fmt::format(", standard deviation {:.1f} points", 100 * *found.spread.deviation);
  }
  document.blocks.emplace_back(report::Paragraph{text + ".", report::Tone::kAnswer});
  report::Table networks({{"network", report::Align::kLeft}, {"top-1"}});
  for (size_t i = 0; i < found.top1.size(); ++i) {
    networks.add_row({i < findings.ours.runs.size() ? findings.ours.runs[i].name : "",
                      report::percent_cell(found.top1[i], 1)});
  }
  document.blocks.emplace_back(std::move(networks));
  report::Table table({{"picture", report::Align::kLeft, 50},
                       {"truth", report::Align::kLeft},
                       {"votes", report::Align::kLeft}});
  Json pictures = Json::array();
  for (const recipes::PictureVotes& picture : found.pictures) {
    const std::string truth = found.class_names[static_cast<size_t>(picture.truth)];
    table.add_row({picture.name, truth, votes_text(picture, found.class_names)});
    pictures.push_back(Json::object(
        {{"name", picture.name}, {"truth", truth}, {"votes", Json::array_of(picture.votes)}}));
  }
  if (!findings.pictures_png.empty()) {
    document.blocks.emplace_back(
        report::Picture{findings.pictures_png, "The pictures, in the order of the table."});
  }
  document.blocks.emplace_back(std::move(table));
  document.data["generalization"] = Json::object({{"top1", Json::array_of(found.top1)},
                                                  {"mean", found.spread.mean},
                                                  {"std", maybe(found.spread.deviation)},
                                                  {"classes", Json::array_of(found.class_names)},
                                                  {"pictures", std::move(pictures)}});
}

}  // namespace

// "ours" are the runs of this study, "imported" those of other programs' logs, a summary for each
// file; either may be empty.
report::Document tta_document(const TtaFindings& findings) {
  report::Document document;
  document.title = fmt::format("Time to {:g} % accuracy", 100 * findings.target);
  document.data = summary_json(findings.ours);
  document.data["target"] = findings.target;
  const auto part = [&](const TtaSummary& summary, const std::vector<recipes::TrainingLog>& logs) {
    document.blocks.emplace_back(
        report::Paragraph{summary_text(summary, findings.target), report::Tone::kAnswer});
    document.blocks.emplace_back(runs_table(summary));
    document.blocks.emplace_back(curves(logs, findings.target));
  };
  if (!findings.logs.empty()) {
    document.blocks.emplace_back(report::Heading{"Runs"});
    part(findings.ours, findings.logs);
  }
  Json imported = Json::array();
  for (const ImportedLogs& one : findings.imported) {
    document.blocks.emplace_back(report::Heading{"Imported from " + one.file});
    part(one.summary, one.logs);
    Json summary = summary_json(one.summary);
    summary["file"] = one.file;
    imported.push_back(std::move(summary));
  }
  if (!findings.imported.empty()) document.data["imported"] = std::move(imported);
  add_comparison(findings, document);
  if (findings.generalization) add_generalization(findings, document);
  return document;
}

}  // namespace trainyard::cli
