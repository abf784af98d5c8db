#include <fmt/format.h>

#include "report/optimus.h"

namespace trainyard::report {
namespace {

Json json_of(const schedule::Beta& beta) {
  return Json::array_of(beta);
}

// Optimus' own 1/k is kept beside the chosen model, so that the two can be compared.
Json stage_json(const schedule::Curve& curve, const schedule::StageFit& stage) {
  Json scores = Json::array();
  for (const schedule::PrefixScore& score : stage.scores) {
    scores.push_back(Json::object({{"share", score.share},
                                   {"points", static_cast<int64_t>(score.points)},
                                   {"model", schedule::loss_model_name(score.model)},
                                   {"mape", score.mape},
                                   {"inverse_mape", score.inverse_mape}}));
  }
  return Json::object({{"first", curve.k[stage.range.first]},
                       {"last", curve.k[stage.range.last - 1]},
                       {"rate", stage.rate},
                       {"beta", json_of(stage.chosen.beta)},
                       {"standard_error", json_of(stage.chosen.standard_error)},
                       {"sse", stage.chosen.sse},
                       {"model", schedule::loss_model_name(stage.chosen.model)},
                       {"tail_mape", stage.tail_mape},
                       {"scale", stage.scale},
                       {"origin", stage.origin},
                       {"outliers", static_cast<int64_t>(stage.outliers.size())},
                       {"inverse_beta", json_of(stage.inverse.beta)},
                       {"inverse_sse", stage.inverse.sse},
                       {"unweighted_beta", json_of(stage.plain.beta)},
                       {"unweighted_sse", stage.plain.sse},
                       {"prefixes", std::move(scores)}});
}

Json curve_json(const LossReport& report) {
  Json stages = Json::array();
  for (const schedule::StageFit& stage : report.fit.stages) {
    stages.push_back(stage_json(report.curve, stage));
  }
  Json data = Json::object({{"name", report.curve.name},
                            {"unit", report.curve.unit},
                            {"points", static_cast<int64_t>(report.curve.size())},
                            {"stages", std::move(stages)},
                            {"threshold", report.threshold},
                            {"convergence_step", nullptr}});
  if (report.convergence) data["convergence_step"] = *report.convergence;
  if (report.target_accuracy > 0) {
    data["target_accuracy"] = report.target_accuracy;
    data["target_step"] = report.target ? Json(report.target->k) : Json(nullptr);
    data["target_basis"] = report.target && report.target->measured ? "measured" : "extrapolated";
  }
  return data;
}

Chart curve_chart(const LossReport& report) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Loss of " + report.curve.name,
              .x = {report.curve.unit},
              .y = {"loss"}};
  Series real{.name = "measured", .origin = Origin::kMeasured, .points = {}};
  for (size_t i = 0; i < report.curve.size(); ++i) {
    real.points.push_back({report.curve.k[i], report.curve.loss[i]});
  }
  Series fitted{.name = "fitted, with its 95 % band", .origin = Origin::kPredicted, .points = {}};
  for (const schedule::StageFit& stage : report.fit.stages) {
    std::vector<double> k;
    // The fit counts from where its stage began.
    for (size_t i = stage.range.first; i < stage.range.last; ++i) {
      k.push_back(report.curve.k[i] - stage.origin);
    }
    // Forty points draw the curve; a page need not carry thousands.
    const size_t every = std::max<size_t>(1, k.size() / 40);
    for (size_t i = 0; i < k.size(); i += every) {
      // The fit is of losses divided by their largest (Optimus normalizes); `scale` undoes it.
      const double half = stage.scale * schedule::band_at(stage.chosen, k[i], k, {});
      const double loss = stage.scale * stage.chosen.at(k[i]);
      fitted.points.push_back({k[i] + stage.origin, loss, loss - half, loss + half});
    }
  }
  chart.series = {std::move(real), std::move(fitted)};
  return chart;
}

Table stages_table(const LossReport& report) {
  Table table({{"from"},
               {"to"},
               {"rate"},
               {"model", Align::kLeft},
               {"b0"},
               {"b1"},
               {"b2"},
               {"SSE"},
               {"outliers"},
               {"error of the tail"}});
  for (const schedule::StageFit& stage : report.fit.stages) {
    const auto with_error = [&](size_t c) {
      return Cell(
          fmt::format("{:.4g} ± {:.2g}", stage.chosen.beta[c], stage.chosen.standard_error[c]),
          fmt::format("{}", stage.chosen.beta[c]));
    };
    table.add_row({fixed_cell(report.curve.k[stage.range.first], 0),
                   fixed_cell(report.curve.k[stage.range.last - 1], 0),
                   stage.rate > 0 ? Cell(fmt::format("{:g}", stage.rate)) : Cell("–"),
                   schedule::loss_model_name(stage.chosen.model), with_error(0), with_error(1),
                   with_error(2), Cell(fmt::format("{:.4g}", stage.chosen.sse)),
                   count_cell(static_cast<int64_t>(stage.outliers.size())),
                   percent_cell(stage.tail_mape)});
  }
  return table;
}

// How well a prefix of the curve foretold the rest: what a scheduler would have known then.
Table scores_table(const LossReport& report) {
  Table table({{"stage"},
               {"seen"},
               {"points"},
               {"chosen", Align::kLeft},
               {"error on the rest"},
               {"Optimus' 1/k"}});
  for (size_t s = 0; s < report.fit.stages.size(); ++s) {
    for (const schedule::PrefixScore& score : report.fit.stages[s].scores) {
      table.add_row({count_cell(static_cast<int64_t>(s) + 1), percent_cell(score.share, 0),
                     count_cell(static_cast<int64_t>(score.points)),
                     schedule::loss_model_name(score.model), percent_cell(score.mape),
                     percent_cell(score.inverse_mape)});
    }
  }
  return table;
}

void add_words(Document& document, const LossReport& report) {
  const schedule::StageFit& last = report.fit.stages.back();
  if (last.rising) {
    document.blocks.emplace_back(Paragraph{
        "The loss of the last stage ends above where it began; no falling curve describes it."});
  }
  for (const schedule::StageFit& stage : report.fit.stages) {
    // Only the departure from the published model needs a reason.
    if (stage.chosen.model == schedule::LossModel::kInverse) continue;
    document.blocks.emplace_back(Paragraph{fmt::format(
        "From {} {:g}: 1/k does not describe the points held back; {} does better and is used.",
        report.curve.unit, report.curve.k[stage.range.first],
        schedule::loss_model_formula(stage.chosen.model))});
  }
  if (report.convergence) {
    document.blocks.emplace_back(Paragraph{
        fmt::format(
            "Converges at {} {:g}: from there on the fitted loss falls by less than {:g} of "
            "its largest value per {}.",
            report.curve.unit, *report.convergence, report.threshold, report.curve.unit),
        Tone::kAnswer});
  }
  if (report.target_accuracy == 0) return;
  if (!report.target) {
    document.blocks.emplace_back(Paragraph{fmt::format(
        "Accuracy {:g} is not reached, and what was seen does not say when it would be.",
        report.target_accuracy)});
  } else {
    document.blocks.emplace_back(Paragraph{
        fmt::format("Accuracy {:g} at {} {:g} ({}).", report.target_accuracy, report.curve.unit,
                    report.target->k, report.target->measured ? "measured" : "extrapolated"),
        Tone::kAnswer});
  }
}

}  // namespace

Document loss_document(std::span<const LossReport> reports) {
  Document document;
  document.title = "Loss curves";
  Json curves = Json::array();
  for (const LossReport& report : reports) {
    document.blocks.emplace_back(Heading{report.curve.name});
    document.blocks.emplace_back(stages_table(report));
    add_words(document, report);
    document.blocks.emplace_back(scores_table(report));
    document.blocks.emplace_back(curve_chart(report));
    curves.push_back(curve_json(report));
  }
  // One curve is the object itself.
  if (reports.size() == 1) {
    document.data = curves.items().front();
  } else {
    document.data["curves"] = std::move(curves);
  }
  return document;
}

void add_depths(Document& document, const DepthReport& report) {
  document.blocks.emplace_back(Heading{"Coefficients over depth"});
  Table table({{"depth"}, {"b0"}, {"b1"}, {"b2"}, {"largest loss"}, {"error, left out"}});
  Json rows = Json::array();
  for (const schedule::DepthError& error : report.errors) {
    const schedule::Beta beta = report.model.beta(error.depth);
    table.add_row({fixed_cell(error.depth, 0), fixed_cell(beta[0], 3), fixed_cell(beta[1], 3),
                   fixed_cell(beta[2], 3), fixed_cell(report.model.scale(error.depth), 2),
                   percent_cell(error.mape)});
    rows.push_back(Json::object({{"depth", error.depth},
                                 {"beta", json_of(beta)},
                                 {"scale", report.model.scale(error.depth)},
                                 {"left_out_mape", error.mape},
                                 {"inside", error.inside}}));
  }
  document.blocks.emplace_back(std::move(table));
  Chart chart{.kind = ChartKind::kLine,
              .title = "Curves by the regression over depth",
              .x = {"epoch"},
              .y = {"loss"}};
  for (const schedule::DepthCurve& one : report.curves) {
    Series real{.name = one.curve.name, .origin = Origin::kMeasured, .points = {}};
    // Several measured curves in one chart: half of the points do.
    for (size_t i = 0; i < one.curve.size(); i += 2) {
      real.points.push_back({one.curve.k[i], one.curve.loss[i]});
    }
    chart.series.push_back(std::move(real));
  }
  document.data["depths"] = std::move(rows);
  if (report.wanted) {
    Series made{.name = fmt::format("depth {:g}, predicted", *report.wanted),
                .origin = Origin::kPredicted,
                .points = {}};
    Json points = Json::array();
    for (double k = 1; k <= 100; k += 1) {
      const double loss = report.model.loss_at(*report.wanted, k);
      made.points.push_back({k, loss});
      points.push_back(Json(Json::Array{k, loss}));
    }
    chart.series.push_back(std::move(made));
    document.data["predicted"] = Json::object({{"depth", *report.wanted},
                                               {"beta", json_of(report.model.beta(*report.wanted))},
                                               {"points", std::move(points)}});
  }
  document.blocks.emplace_back(std::move(chart));
}

}  // namespace trainyard::report
