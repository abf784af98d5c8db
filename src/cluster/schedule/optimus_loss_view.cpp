#include <fmt/format.h>

#include "cluster/schedule/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

// A prefix of a stage, and which stage it is of.
struct ScoreRow {
  int64_t stage = 0;
  schedule::PrefixScore score;
};

Fields<schedule::PrefixScore> prefix_fields() {
  using schedule::PrefixScore;
  const auto model = [](const PrefixScore& s) { return schedule::loss_model_name(s.model); };
  return {{"share", {"seen"}, &PrefixScore::share, Percent{0}},
          {"points", {"points"}, &PrefixScore::points},
          {"model", {"chosen", Align::kLeft}, model},
          {"mape", {"error on the rest"}, &PrefixScore::mape, Percent()},
          {"inverse_mape", {"Optimus' 1/k"}, &PrefixScore::inverse_mape, Percent()}};
}

// Optimus' own 1/k is kept beside the chosen model, so that the two can be compared.
Fields<schedule::StageFit> stage_fields(const schedule::Curve& curve) {
  using schedule::StageFit;
  const auto first = [&curve](const StageFit& s) { return curve.k[s.range.first]; };
  const auto last = [&curve](const StageFit& s) { return curve.k[s.range.last - 1]; };
  const auto rate = [](const StageFit& s) {
    return Cell(s.rate > 0 ? fmt::format("{:g}", s.rate) : "–");
  };
  const auto model = [](const StageFit& s) { return schedule::loss_model_name(s.chosen.model); };
  const auto sse = [](const StageFit& s) { return s.chosen.sse; };
  const auto with_error = [](size_t c) {
    const auto show = [c](const StageFit& s) {
      return Cell(fmt::format("{:.4g} ± {:.2g}", s.chosen.beta[c], s.chosen.standard_error[c]),
                  fmt::format("{}", s.chosen.beta[c]));
    };
    return Field<StageFit>::shown({fmt::format("b{}", c)}, show);
  };
  const auto list = [](auto beta) {
    return [beta](const StageFit& s) { return Json::array_of(beta(s)); };
  };
  return {{"first", {"from"}, first, Fixed{0}},
          {"last", {"to"}, last, Fixed{0}},
          {"rate", {"rate"}, &StageFit::rate, rate},
          {"model", {"model", Align::kLeft}, model},
          with_error(0),
          with_error(1),
          with_error(2),
          {"beta", list([](const StageFit& s) { return s.chosen.beta; })},
          {"standard_error", list([](const StageFit& s) { return s.chosen.standard_error; })},
          {"sse", {"SSE"}, sse, [](double e) { return Cell(fmt::format("{:.4g}", e)); }},
          {"outliers", {"outliers"}, [](const StageFit& s) { return s.outliers.size(); }},
          {"tail_mape", {"error of the tail"}, &StageFit::tail_mape, Percent()},
          {"scale", &StageFit::scale},
          {"origin", &StageFit::origin},
          {"inverse_beta", list([](const StageFit& s) { return s.inverse.beta; })},
          {"inverse_sse", [](const StageFit& s) { return s.inverse.sse; }},
          {"unweighted_beta", list([](const StageFit& s) { return s.plain.beta; })},
          {"unweighted_sse", [](const StageFit& s) { return s.plain.sse; }},
          {"prefixes", [](const StageFit& s) { return objects_of(prefix_fields(), s.scores); }}};
}

Json curve_json(const LossReport& report) {
  Json data = Json::object({{"name", report.curve.name},
                            {"unit", report.curve.unit},
                            {"points", static_cast<int64_t>(report.curve.size())},
                            {"stages", objects_of(stage_fields(report.curve), report.fit.stages)},
                            {"threshold", report.threshold},
                            {"convergence_step", report.convergence}});
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

// How well a prefix of the curve foretold the rest: what a scheduler would have known then.
Table scores_table(const LossReport& report) {
  std::vector<ScoreRow> rows;
  for (size_t s = 0; s < report.fit.stages.size(); ++s) {
    for (const schedule::PrefixScore& score : report.fit.stages[s].scores) {
      rows.push_back({static_cast<int64_t>(s) + 1, score});
    }
  }
  return table_of(joined<ScoreRow>({{"stage", {"stage"}, &ScoreRow::stage}},
                                   of_part<ScoreRow>(prefix_fields(), &ScoreRow::score)),
                  rows);
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
    document.blocks.emplace_back(table_of(stage_fields(report.curve), report.fit.stages));
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
  using schedule::DepthError;
  const schedule::DepthModel& model = report.model;
  const auto beta = [&model](size_t c) {
    return Field<DepthError>::shown({fmt::format("b{}", c)}, [&model, c](const DepthError& e) {
      return fixed_cell(model.beta(e.depth)[c], 3);
    });
  };
  const Fields<DepthError> fields = {
      {"depth", {"depth"}, &DepthError::depth, Fixed{0}},
      {"beta", [&model](const DepthError& e) { return Json::array_of(model.beta(e.depth)); }},
      beta(0),
      beta(1),
      beta(2),
      {"scale",
       {"largest loss"},
       [&model](const DepthError& e) { return model.scale(e.depth); },
       Fixed{2}},
      {"left_out_mape", {"error, left out"}, &DepthError::mape, Percent()},
      {"inside", &DepthError::inside}};
  document.blocks.emplace_back(table_of(fields, report.errors));
  Chart chart{.kind = ChartKind::kLine,
              .title = "Curves by the regression over depth",
              .x = {"epoch"},
              .y = {"loss"}};
  for (const schedule::Curve& one : report.curves) {
    Series real{.name = one.name, .origin = Origin::kMeasured, .points = {}};
    // Several measured curves in one chart: half of the points do.
    for (size_t i = 0; i < one.size(); i += 2) {
      real.points.push_back({one.k[i], one.loss[i]});
    }
    chart.series.push_back(std::move(real));
  }
  document.data["depths"] = objects_of(fields, report.errors);
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
    document.data["predicted"] =
        Json::object({{"depth", *report.wanted},
                      {"beta", Json::array_of(report.model.beta(*report.wanted))},
                      {"points", std::move(points)}});
  }
  document.blocks.emplace_back(std::move(chart));
}

}  // namespace trainyard::report
