#include <algorithm>

#include <fmt/format.h>

#include "cluster/schedule/view.h"

namespace trainyard::report {
namespace {

Cell with_error(const schedule::RegressionLine::Coefficient& coefficient) {
  if (!coefficient.standard_error) return Cell(fmt::format("{:.3f}", coefficient.value));
  return Cell(fmt::format("{:.3f} ± {:.3f}", coefficient.value, *coefficient.standard_error));
}

Json json_of_coefficient(const schedule::RegressionLine::Coefficient& coefficient) {
  Json one = Json::object({{"value", coefficient.value}, {"standard_error", nullptr}});
  if (coefficient.standard_error) one["standard_error"] = *coefficient.standard_error;
  return one;
}

Json json_of_model(const schedule::CurveModel& model) {
  return Json::object({{"name", model.name},
                       {"depth", model.depth},
                       {"device", model.device},
                       {"points", static_cast<int64_t>(model.points)},
                       {"beta", Json::array_of(model.beta)},
                       {"standard_error", Json::array_of(model.standard_error)},
                       {"scale", model.scale},
                       {"mape", model.mape}});
}

void add_models(Document& document, const RegressionReport& report) {
  document.blocks.emplace_back(Heading{"One model per curve"});
  Table table({{"curve", Align::kLeft},
               {"depth"},
               {"device", Align::kLeft},
               {"points"},
               {"b0"},
               {"b1"},
               {"b2"},
               {"largest loss"},
               {"mean error"}});
  Json rows = Json::array();
  for (const schedule::CurveModel& model : report.models) {
    table.add_row({Cell(model.name), fixed_cell(model.depth, 0),
                   Cell(model.device.empty() ? "-" : model.device),
                   count_cell(static_cast<int64_t>(model.points)), fixed_cell(model.beta[0], 4),
                   fixed_cell(model.beta[1], 4), fixed_cell(model.beta[2], 4),
                   fixed_cell(model.scale, 3), percent_cell(model.mape)});
    rows.push_back(json_of_model(model));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(
      Paragraph{"l(k) = largest loss * (1/(b0 k + b1) + b2), fitted to all points of a curve with "
                "equal weights. The mean error is that of "
                "|fitted / real - 1|. The model knows one learning rate: where the rate falls, "
                "errors are large, and the setting first-stage "
                "fits what lies before."});
  document.data["models"] = std::move(rows);
}

void add_lines(Document& document, const schedule::LossRegression& regression) {
  document.blocks.emplace_back(Heading{"Coefficients over depth and device"});
  std::vector<Column> columns = {{"log of", Align::kLeft}, {"intercept"}, {"per log(depth)"}};
  for (size_t d = 1; d < regression.devices.size(); ++d) columns.push_back({regression.devices[d]});
  columns.push_back({"R²", Align::kRight, 0, "r_squared"});
  Table table(std::move(columns));
  Json rows = Json::array();
  for (size_t c = 0; c < regression.lines.size(); ++c) {
    const schedule::RegressionLine& line = regression.lines[c];
    std::vector<Cell> cells = {Cell(schedule::LossRegression::kQuantities[c]),
                               with_error(line.intercept), with_error(line.slope)};
    Json offsets = Json::object();
    for (size_t d = 0; d < line.offsets.size(); ++d) {
      cells.push_back(with_error(line.offsets[d]));
      offsets[regression.devices[d + 1]] = json_of_coefficient(line.offsets[d]);
    }
    cells.push_back(fixed_cell(line.r_squared, 3));
    table.add_row(std::move(cells));
    rows.push_back(Json::object({{"quantity", schedule::LossRegression::kQuantities[c]},
                                 {"intercept", json_of_coefficient(line.intercept)},
                                 {"slope", json_of_coefficient(line.slope)},
                                 {"offsets", std::move(offsets)},
                                 {"r_squared", line.r_squared}}));
  }
  document.blocks.emplace_back(std::move(table));
  if (regression.devices.size() > 1) {
    document.blocks.emplace_back(Paragraph{fmt::format(
        "Columns of devices are offsets from {}. An offset within twice its "
        "standard error (±) is no difference.",
        regression.devices[0].empty() ? "curves without a device" : regression.devices[0])});
  }
  document.data["regression"] = std::move(rows);
}

Series series_of(const schedule::Curve& real) {
  Series series{
      .name = fmt::format("{}, real", real.name), .origin = Origin::kMeasured, .points = {}};
  for (size_t i = 0; i < real.size(); ++i) series.points.push_back({real.k[i], real.loss[i]});
  return series;
}

void add_prediction(Document& document, const RegressionReport& report) {
  const double depth = *report.wanted;
  document.blocks.emplace_back(Heading{fmt::format("Depth {:g}, predicted", depth)});
  Chart chart{.kind = ChartKind::kLine,
              .title = fmt::format("Loss of depth {:g}: predicted{}", depth,
                                   report.real.empty() ? "" : " and real"),
              .x = {report.unit},
              .y = {"loss"}};
  Json predicted = Json::array();
  for (const schedule::CurveModel& model : report.predicted) {
    Series series{.name = model.name, .origin = Origin::kPredicted, .points = {}};
    Json points = Json::array();
    constexpr int kPoints = 100;
    for (int i = 0; i <= kPoints; ++i) {
      const double k = 1 + (report.last_k - 1) * i / kPoints;
      series.points.push_back({k, model.loss_at(k)});
      points.push_back(Json(Json::Array{k, model.loss_at(k)}));
    }
    chart.series.push_back(std::move(series));
    Json one = json_of_model(model);
    one["curve"] = std::move(points);
    predicted.push_back(std::move(one));
  }
  Json reals = Json::array();
  for (const schedule::Curve& real : report.real) {
    chart.series.push_back(series_of(real));
    Json points = Json::array();
    for (size_t i = 0; i < real.size(); ++i)
      points.push_back(Json(Json::Array{real.k[i], real.loss[i]}));
    reals.push_back(Json::object({{"name", real.name}, {"points", std::move(points)}}));
  }
  document.data["real"] = std::move(reals);
  document.blocks.emplace_back(std::move(chart));
  Json errors = Json::array();
  for (const RegressionReport::Error& error : report.errors) {
    document.blocks.emplace_back(
        Paragraph{fmt::format("{}: the predicted loss is off by {:.1f} % in the mean.", error.name,
                              100 * error.mape),
                  Tone::kAnswer});
    errors.push_back(
        Json::object({{"name", error.name}, {"device", error.device}, {"mape", error.mape}}));
  }
  document.data["predicted"] = std::move(predicted);
  document.data["errors"] = std::move(errors);
}

}  // namespace

Document regression_document(const RegressionReport& report) {
  Document document;
  document.title = "Loss models over depth and device";
  add_models(document, report);
  add_lines(document, report.regression);
  if (report.wanted) add_prediction(document, report);
  return document;
}

}  // namespace trainyard::report
