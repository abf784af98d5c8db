#include "detect/view.h"

#include <algorithm>

#include <fmt/format.h>

#include "detect/coco_scoring.h"
#include "detect/error_kinds.h"

namespace trainyard::cli {
namespace {

constexpr size_t kWorstPictures = 5;
constexpr size_t kMostCurves = 8;
constexpr size_t kCurvePoints = 200;

// A class without objects has no average precision, which is not 0.
report::Cell share_or_dash(const std::optional<double>& share) {
  return share ? report::fixed_cell(*share, 4) : report::Cell("n/a", "");
}

// The average of the metric, by class.
std::optional<double> average_of(const DetectionReport& request, const detect::VocResult& voc,
                                 const detect::CocoResult& coco, size_t label) {
  if (request.metric == "coco") return coco.classes[label];
  return request.metric == "every-point" ? voc.classes[label].every_point
                                         : voc.classes[label].eleven_point;
}

std::optional<double> mean_average(const DetectionReport& request, const detect::VocResult& voc,
                                   const detect::CocoResult& coco) {
  if (request.metric == "coco") return coco.average;
  return request.metric == "every-point" ? voc.every_point : voc.eleven_point;
}

report::Table class_scores(const DetectionReport& request, const detect::VocResult& voc,
                           const detect::CocoResult& coco, const std::vector<std::string>& names) {
  report::Table table(
      {{"class", report::Align::kLeft, 40}, {"AP"}, {"objects"}, {"found"}, {"false"}, {"recall"}});
  for (size_t i = 0; i < names.size(); ++i) {
    const detect::ClassResult& own = voc.classes[i];
    const auto recall =
        own.truths == 0 ? std::optional<double>()
                        : static_cast<double>(own.true_positives) / static_cast<double>(own.truths);
    table.add_row({names[i], share_or_dash(average_of(request, voc, coco, i)),
                   report::count_cell(own.truths), report::count_cell(own.true_positives),
                   report::count_cell(own.false_positives), share_or_dash(recall)});
  }
  return table;
}

report::Table coco_table(const detect::CocoResult& coco) {
  report::Table table(
      {{"AP@[.5:.95]"}, {"AP@.5"}, {"AP@.75"}, {"small"}, {"medium"}, {"large"}, {"AR@100"}});
  table.add_row({share_or_dash(coco.average), share_or_dash(coco.average_50),
                 share_or_dash(coco.average_75), share_or_dash(coco.small),
                 share_or_dash(coco.medium), share_or_dash(coco.large),
                 share_or_dash(coco.recall)});
  return table;
}

std::vector<report::Cell> kind_cells(std::string name, const detect::ErrorKinds& kinds) {
  std::vector<report::Cell> cells = {report::Cell(std::move(name))};
  for (const int64_t count : {kinds.correct, kinds.duplicate, kinds.localization, kinds.confusion,
                              kinds.background, kinds.missed}) {
    cells.push_back(report::count_cell(count));
  }
  return cells;
}

report::Table error_table(const detect::ErrorReport& errors,
                          const std::vector<std::string>& pictures) {
  report::Table table({{"picture", report::Align::kLeft, 50},
                       {"correct"},
                       {"duplicate"},
                       {"localization"},
                       {"other class"},
                       {"background"},
                       {"missed"}});
  for (size_t i = 0; i < std::min(errors.pictures.size(), kWorstPictures); ++i) {
    const detect::PictureErrors& each = errors.pictures[i];
    table.add_row(kind_cells(pictures[static_cast<size_t>(each.picture)], each.kinds));
  }
  table.add_rule();
  table.add_row(kind_cells("all", errors.all));
  return table;
}

report::Chart curves(const detect::VocResult& voc, const std::vector<std::string>& names) {
  report::Chart chart{
      .title = "Precision against recall", .x = {.name = "recall"}, .y = {.name = "precision"}};
  for (size_t i = 0; i < names.size() && chart.series.size() < kMostCurves; ++i) {
    const std::vector<detect::CurvePoint>& curve = voc.classes[i].curve;
    if (curve.empty() || voc.classes[i].truths == 0) continue;
    report::Series series{.name = names[i], .origin = report::Origin::kMeasured, .points = {}};
    // A page needs no more points than it has pixels; curves have one for each detection.
    const size_t step = std::max<size_t>(1, curve.size() / kCurvePoints);
    for (size_t p = 0; p < curve.size(); p += step) {
      series.points.push_back({.x = curve[p].recall, .y = curve[p].precision});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Json kinds_json(const detect::ErrorKinds& kinds) {
  return Json::object({{"correct", kinds.correct},
                       {"duplicate", kinds.duplicate},
                       {"localization", kinds.localization},
                       {"other_class", kinds.confusion},
                       {"background", kinds.background},
                       {"missed", kinds.missed}});
}

Json score_json(const DetectionReport& request, const detect::VocResult& voc,
                const detect::CocoResult& coco, const std::vector<std::string>& names) {
  Json classes = Json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    const detect::ClassResult& own = voc.classes[i];
    classes.push_back(Json::object({{"name", names[i]},
                                    {"ap", average_of(request, voc, coco, i)},
                                    {"truths", own.truths},
                                    {"true_positives", own.true_positives},
                                    {"false_positives", own.false_positives},
                                    {"ap_11_point", own.eleven_point},
                                    {"ap_every_point", own.every_point},
                                    {"ap_coco", coco.classes[i]}}));
  }
  return Json::object({{"map", mean_average(request, voc, coco)},
                       {"metric", request.metric},
                       {"iou", request.options.overlap},
                       {"classes", std::move(classes)},
                       {"map_11_point", voc.eleven_point},
                       {"map_every_point", voc.every_point},
                       {"coco", Json::object({{"ap", coco.average},
                                              {"ap_50", coco.average_50},
                                              {"ap_75", coco.average_75},
                                              {"ap_small", coco.small},
                                              {"ap_medium", coco.medium},
                                              {"ap_large", coco.large},
                                              {"ar_100", coco.recall}})}});
}

}  // namespace

const std::vector<std::string>& detection_metrics() {
  static const std::vector<std::string> kMetrics = {"11-point", "every-point", "coco"};
  return kMetrics;
}

// All metrics are computed whatever is asked for, as the JSON has them all.
report::Document detection_document(std::span<const detect::Truth> truths,
                                    std::span<const detect::Detection> detections,
                                    const std::vector<std::string>& class_names,
                                    const std::vector<std::string>& pictures,
                                    const DetectionReport& request) {
  const auto classes = static_cast<int64_t>(class_names.size());
  const detect::VocResult voc = detect::score_voc(truths, detections, classes, request.options);
  const detect::CocoResult coco = detect::score_coco(truths, detections, classes);
  const detect::ErrorReport errors =
      detect::count_errors(truths, detections, request.threshold, request.options);
  report::Document document;
  const std::optional<double> mean = mean_average(request, voc, coco);
  document.blocks.emplace_back(report::Paragraph{
      fmt::format(
          "mean average precision {} ({}{}) of {} detections of {} objects in {} pictures",
          mean ? fmt::format("{:.4f}", *mean) : "n/a", request.metric,
          request.metric == "coco" ? "" : fmt::format(" at overlap {:g}", request.options.overlap),
          detections.size(), truths.size(), pictures.size()),
      report::Tone::kAnswer});
  document.blocks.emplace_back(class_scores(request, voc, coco, class_names));
  document.blocks.emplace_back(coco_table(coco));
  document.blocks.emplace_back(curves(voc, class_names));
  document.blocks.emplace_back(
      report::Heading{fmt::format("Mistakes at scores of {:g} and more", request.threshold)});
  document.blocks.emplace_back(error_table(errors, pictures));
  document.data = score_json(request, voc, coco, class_names);
  document.data["errors"] = kinds_json(errors.all);
  Json worst = Json::array();
  for (size_t i = 0; i < std::min(errors.pictures.size(), kWorstPictures); ++i) {
    const detect::PictureErrors& each = errors.pictures[i];
    Json entry = kinds_json(each.kinds);
    entry["picture"] = pictures[static_cast<size_t>(each.picture)];
    worst.push_back(std::move(entry));
  }
  document.data["worst_pictures"] = std::move(worst);
  return document;
}

}  // namespace trainyard::cli
