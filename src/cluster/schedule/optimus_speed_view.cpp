#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cluster/schedule/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

std::string_view points_are(const SpeedReport& report) {
  return report.predicted ? "predicted" : "measured";
}

Chart speed_chart(const SpeedReport& report) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Speed against workers",
              .x = {"workers"},
              .y = {"steps/s"}};
  // By number of servers, so that a line is one number and its fit has the same color.
  std::map<int64_t, Series> measured;
  int64_t most = 1;
  for (const schedule::SpeedPoint& point : report.points) {
    Series& series = measured[point.servers];
    series.name = fmt::format("{} servers, {}", point.servers, points_are(report));
    series.origin = report.predicted ? Origin::kPredicted : Origin::kMeasured;
    series.group = fmt::format("{}", point.servers);
    series.points.push_back({static_cast<double>(point.workers), point.steps_per_s});
    most = std::max(most, point.workers);
  }
  // A handful of lines is all that can be told apart.
  // The fewest and the most servers stay.
  while (measured.size() > 4) measured.erase(std::next(measured.begin()));
  for (auto& [servers, series] : measured) {
    std::sort(series.points.begin(), series.points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    Series fitted{.name = fmt::format("{} servers, fitted", servers),
                  .origin = Origin::kPredicted,
                  .points = {},
                  .group = series.group};
    for (int64_t w = 1; w <= most; ++w) {
      fitted.points.push_back({static_cast<double>(w), report.model.fitted(servers, w)});
    }
    chart.series.push_back(std::move(series));
    chart.series.push_back(std::move(fitted));
  }
  return chart;
}

Chart time_chart(const TimeReport& report) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Time to the goal against workers",
              .x = {"workers"},
              .y = {"hours"}};
  for (const int64_t servers : report.question.servers) {
    Series series{
        .name = fmt::format("{} servers", servers), .origin = Origin::kPredicted, .points = {}};
    for (const schedule::TimePoint& point : report.answer.points) {
      if (point.servers != servers) continue;
      series.points.push_back({static_cast<double>(point.workers), point.seconds / 3600,
                               point.low / 3600, point.high / 3600});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// Also of the fastest and the cheapest, so that a reader finds the same fields everywhere.
Fields<schedule::TimePoint> time_point_fields() {
  using schedule::TimePoint;
  const auto origin = [](const TimePoint& p) { return Cell(p.measured ? "measured" : "fitted"); };
  return {{"servers", {"servers"}, &TimePoint::servers},
          {"workers", {"workers"}, &TimePoint::workers},
          {"seconds",
           {"time", Align::kRight, 0, "seconds", Best::kLowest},
           &TimePoint::seconds,
           seconds_cell},
          {"low_s", {"from"}, &TimePoint::low, seconds_cell},
          {"high_s", {"to"}, &TimePoint::high, seconds_cell},
          {"cost_usd",
           {"cost $", Align::kRight, 0, "cost_usd", Best::kLowest},
           &TimePoint::cost_usd,
           Fixed{2}},
          {"measured_speed", {"speed", Align::kLeft}, &TimePoint::measured, origin},
          {"limit", {"limited by", Align::kLeft}, &TimePoint::limit}};
}

}  // namespace

// Both estimators are shown: where they disagree, the points do not decide the coefficients.
Document speed_document(const SpeedReport& report) {
  Document document;
  document.title = "Speed over servers and workers";
  Table table({{"coefficient", Align::kLeft},
               {"what it stands for", Align::kLeft},
               {"seconds"},
               {"by the other estimator"}});
  Json meanings = Json::array();
  for (size_t i = 0; i < report.model.theta.size(); ++i) {
    const std::string_view meaning = schedule::coefficient_meaning(report.model.form, i);
    table.add_row({fmt::format("theta{}", i), meaning,
                   Cell(fmt::format("{:.6g}", report.model.theta[i])),
                   Cell(fmt::format("{:.6g}", report.other_theta[i]))});
    meanings.push_back(meaning);
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Paragraph{
      fmt::format("Mean error {:.1f} % on {} {} points, made small in {}; {:.1f} % by the "
                  "other estimator.",
                  report.mape * 100, report.points.size(), points_are(report), report.estimator,
                  report.other_mape * 100),
      Tone::kAnswer});
  Json next = Json::array();
  std::string words;
  for (const auto& [p, w] : report.next) {
    next.push_back(Json::object({{"servers", p}, {"workers", w}}));
    words += fmt::format("{}{} + {}", words.empty() ? "" : ", ", p, w);
  }
  if (!words.empty()) {
    document.blocks.emplace_back(
        Paragraph{"To measure next (servers + workers), the most telling first: " + words + "."});
  }
  document.blocks.emplace_back(speed_chart(report));
  using schedule::SpeedPoint;
  const auto fitted = [&report](const SpeedPoint& point) {
    return report.model.fitted(point.servers, point.workers);
  };
  const Fields<SpeedPoint> fields = {{"servers", &SpeedPoint::servers},
                                     {"workers", &SpeedPoint::workers},
                                     {"speed", &SpeedPoint::steps_per_s},
                                     {"fitted", fitted}};
  document.data = Json::object({{"form", schedule::speed_form_name(report.model.form)},
                                {"theta", Json::array_of(report.model.theta)},
                                {"batch", report.model.batch},
                                {"estimator", report.estimator},
                                {"basis", points_are(report)},
                                {"mape", report.mape},
                                {"other_theta", Json::array_of(report.other_theta)},
                                {"other_mape", report.other_mape},
                                {"meanings", std::move(meanings)},
                                {"points", objects_of(fields, report.points)},
                                {"next", std::move(next)}});
  return document;
}

Document time_document(const TimeReport& report) {
  Document document;
  document.title = "Time to accuracy";
  const schedule::TimePoint& fastest = report.answer.points[report.answer.fastest];
  const schedule::TimePoint& cheapest = report.answer.points[report.answer.cheapest];
  document.blocks.emplace_back(Paragraph{
      fmt::format("{}: {} steps. Fastest with {} server{} and {} worker{}; {} takes the largest "
                  "part of its step. {}",
                  report.goal, si_cell(report.question.steps).text, fastest.servers,
                  fastest.servers == 1 ? "" : "s", fastest.workers, fastest.workers == 1 ? "" : "s",
                  fastest.limit, report.price),
      Tone::kAnswer});
  document.blocks.emplace_back(time_chart(report));
  document.blocks.emplace_back(table_of(time_point_fields(), report.answer.points));
  document.data = Json::object({{"goal", report.goal},
                                {"steps", report.question.steps},
                                {"steps_error", report.question.steps_error},
                                {"speed_error", report.question.speed_error},
                                {"points", objects_of(time_point_fields(), report.answer.points)},
                                {"fastest", object_of(time_point_fields(), fastest)},
                                {"cheapest", object_of(time_point_fields(), cheapest)}});
  return document;
}

}  // namespace trainyard::report
