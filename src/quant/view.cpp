#include "quant/view.h"

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::report {
namespace {

using quant::LayerResult;
using quant::QuantizeResult;
using quant::Side;
using quant::Spread;

// Rounding that leaves less than this deserves a look.
constexpr double kPoorSqnr = 20;

Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json();
}

// 0 stands for "not measured" in results.
Json positive_json(double number) {
  return number > 0 ? Json(number) : Json();
}

Json side_json(const Side& side) {
  return Json::object({{"top1", optional_json(side.top1)},
                       {"bytes", side.bytes},
                       {"median_ms", positive_json(side.median_ms)}});
}

Json spread_json(const Spread& spread) {
  Json json = Json::object({{"min", spread.min},
                            {"max", spread.max},
                            {"mean", spread.mean},
                            {"sigma", spread.sigma},
                            {"saturated", spread.saturated},
                            {"beyond_3_sigma", spread.beyond}});
  if (spread.bars.counts.empty()) return json;
  json["bars"] = Json::object({{"low", spread.bars.low},
                               {"high", spread.bars.high},
                               {"counts", Json::array_of(spread.bars.counts)}});
  return json;
}

// A layer that stayed in float has no steps, so what concerns them is null.
Json layer_json(const LayerResult& layer) {
  const bool int8 = !layer.kept_float;
  const auto known = [&](const Json& value) { return int8 ? value : Json(); };
  return Json::object({{"name", layer.name},
                       {"kind", layer.kind},
                       {"bits", layer.bits},
                       {"scheme", known(layer.scheme)},
                       {"parameters", layer.parameters},
                       {"weight_sqnr_db", known(layer.weight_sqnr_db)},
                       {"activation_sqnr_db", known(positive_json(layer.activation_sqnr_db))},
                       {"sensitivity", optional_json(layer.sensitivity)},
                       {"kept_float", layer.kept_float},
                       {"reason", layer.reason.empty() ? Json() : Json(layer.reason)},
                       {"float_us", positive_json(layer.float_us)},
                       {"int8_us", positive_json(layer.int8_us)},
                       {"predicted_float_us", positive_json(layer.predicted_float_us)},
                       {"predicted_int8_us", positive_json(layer.predicted_int8_us)},
                       {"input_scale", known(layer.input_scale)},
                       {"input_zero", known(layer.input_zero)},
                       {"least_weight_scale", known(layer.least_scale)},
                       {"largest_weight_scale", known(layer.largest_scale)},
                       {"weights", spread_json(layer.weights)},
                       {"input", spread_json(layer.input)},
                       {"output", spread_json(layer.output)}});
}

Json result_json(const QuantizeResult& result) {
  Json data = Json::object({{"float", side_json(result.before)},
                            {"int8", side_json(result.after)},
                            {"calibration_images", result.calibration_images},
                            {"test_images", result.test_images},
                            {"calibrate_s", result.calibrate_s},
                            {"layers", Json::array()},
                            {"steps", Json::array()},
                            {"bits", Json::array()},
                            {"float_operators", Json::object()},
                            {"notices", Json::array_of(result.notices)}});
  data["int8"]["output_sqnr_db"] = optional_json(result.after.output_sqnr_db);
  for (const LayerResult& layer : result.layers) data["layers"].push_back(layer_json(layer));
  for (const auto& step : result.steps) {
    data["steps"].push_back(Json::object({{"what", step.what},
                                          {"top1", optional_json(step.top1)},
                                          {"output_sqnr_db", optional_json(step.output_sqnr_db)}}));
  }
  for (const auto& row : result.bits) {
    data["bits"].push_back(Json::object({{"weight_bits", row.weight_bits},
                                         {"activation_bits", row.activation_bits},
                                         {"top1", optional_json(row.top1)},
                                         {"output_sqnr_db", optional_json(row.output_sqnr_db)}}));
  }
  for (const auto& op : result.float_operators) data["float_operators"][op.op] = op.nodes;
  return data;
}

Cell top1_cell(const std::optional<double>& top1) {
  return top1 ? percent_cell(*top1, 2) : Cell("");
}

Cell decibels(const std::optional<double>& value) {
  return value ? fixed_cell(*value, 1) : Cell("");
}

Cell us_cell(double us) {
  return us > 0 ? fixed_cell(us, 1) : Cell("");
}

Table sides_table(const QuantizeResult& result) {
  Table table(
      {{"network", Align::kLeft}, {"top-1"}, {"file"}, {"smaller"}, {"batch of 1"}, {"faster"}});
  const auto row = [&](const char* name, const Side& side) {
    const double smaller = static_cast<double>(result.before.bytes) /
                           static_cast<double>(std::max<int64_t>(1, side.bytes));
    table.add_row(
        {name, top1_cell(side.top1), bytes_cell(side.bytes), fixed_cell(smaller, 2),
         side.median_ms > 0 ? seconds_cell(side.median_ms / 1e3) : Cell(""),
         side.median_ms > 0 ? fixed_cell(result.before.median_ms / side.median_ms, 2) : Cell("")});
  };
  row("float", result.before);
  row("int8", result.after);
  return table;
}

Table steps_table(const QuantizeResult& result) {
  Table table({{"step", Align::kLeft, 60}, {"top-1"}, {"points"}, {"outputs, dB"}});
  for (const auto& step : result.steps) {
    const bool known = step.top1 && result.before.top1;
    table.add_row({step.what, top1_cell(step.top1),
                   known ? fixed_cell((*step.top1 - *result.before.top1) * 100, 2) : Cell(""),
                   decibels(step.output_sqnr_db)});
  }
  return table;
}

// Columns that nobody measured are left out.
Table layers_table(const QuantizeResult& result) {
  bool sensitivity = false;
  bool times = false;
  bool predicted = false;
  for (const LayerResult& layer : result.layers) {
    sensitivity = sensitivity || layer.sensitivity.has_value();
    times = times || layer.float_us > 0;
    predicted = predicted || layer.predicted_float_us > 0;
  }
  std::vector<Column> columns = {{"layer", Align::kLeft, 36},
                                 {"kind", Align::kLeft},
                                 {"bits"},
                                 {"weights, dB"},
                                 {"input, dB"},
                                 {"from"},
                                 {"to"},
                                 {"saturated"}};
  if (sensitivity) columns.push_back({"noise alone"});
  if (predicted) columns.insert(columns.end(), {{"float us, alone"}, {"int8 us, alone"}});
  if (times) columns.insert(columns.end(), {{"float us"}, {"int8 us"}});
  columns.push_back({"in float because", Align::kLeft, 60});
  Table table(std::move(columns));
  for (const LayerResult& layer : result.layers) {
    const bool int8 = !layer.kept_float;
    std::vector<Cell> cells = {
        layer.name,
        layer.kind,
        count_cell(layer.bits),
        int8 ? fixed_cell(layer.weight_sqnr_db, 1) : Cell(""),
        int8 && layer.activation_sqnr_db > 0 ? fixed_cell(layer.activation_sqnr_db, 1) : Cell(""),
        fixed_cell(layer.input.min, 3),
        fixed_cell(layer.input.max, 3),
        int8 ? percent_cell(layer.input.saturated, 3) : Cell("")};
    if (sensitivity) {
      cells.push_back(layer.sensitivity ? Cell(fmt::format("{:.2e}", *layer.sensitivity))
                                        : Cell(""));
    }
    if (predicted) {
      cells.push_back(us_cell(layer.predicted_float_us));
      cells.push_back(us_cell(layer.predicted_int8_us));
    }
    if (times) {
      cells.push_back(us_cell(layer.float_us));
      cells.push_back(us_cell(layer.int8_us));
    }
    cells.emplace_back(layer.reason);
    table.add_row(std::move(cells));
  }
  return table;
}

void add_bits(const QuantizeResult& result, Document& document) {
  if (result.bits.empty()) return;
  Table table({{"weights, bits"}, {"activations, bits"}, {"top-1"}, {"outputs, dB"}});
  Chart chart{.kind = ChartKind::kLine,
              .title = "Fewer bits",
              .x = {.name = "bits"},
              .y = {.name = "top-1, %"}};
  chart.series = {{"weights alone", Origin::kMeasured, {}},
                  {"weights and activations", Origin::kMeasured, {}}};
  for (const auto& row : result.bits) {
    // 32 bits of activations mean floats.
    const bool alone = row.activation_bits == 32;
    table.add_row({count_cell(row.weight_bits),
                   alone ? Cell("float") : count_cell(row.activation_bits), top1_cell(row.top1),
                   decibels(row.output_sqnr_db)});
    if (row.top1) {
      chart.series[alone ? 0 : 1].points.push_back(
          {static_cast<double>(row.weight_bits), *row.top1 * 100});
    }
  }
  document.blocks.emplace_back(Heading{"Fewer bits"});
  document.blocks.emplace_back(std::move(table));
  if (!chart.series[0].points.empty()) document.blocks.emplace_back(std::move(chart));
}

// Which layers stand out.
void add_remarks(const QuantizeResult& result, Document& document) {
  std::vector<std::string> poor;
  int64_t kept = 0;
  for (const LayerResult& layer : result.layers) {
    if (layer.kept_float) {
      ++kept;
    } else if (layer.weight_sqnr_db < kPoorSqnr ||
               (layer.activation_sqnr_db > 0 && layer.activation_sqnr_db < kPoorSqnr)) {
      poor.push_back(layer.name);
    }
  }
  std::string text = fmt::format("{} of {} layers compute in int8.", result.layers.size() - kept,
                                 result.layers.size());
  if (!poor.empty()) {
    text += fmt::format(" Below {:.0f} dB, so worth a look (`sensitivity`, `keep_float`): {}.",
                        kPoorSqnr, join(poor, ", "));
  }
  std::vector<std::string> ops;
  for (const auto& op : result.float_operators)
    ops.push_back(fmt::format("{} {}", op.nodes, op.op));
  if (!ops.empty()) {
    text += fmt::format(" In float, having no int8 form or no int8 layer after them: {}.",
                        join(ops, ", "));
  }
  document.blocks.emplace_back(Paragraph{std::move(text)});
}

}  // namespace

Document quantize_document(const QuantizeResult& result) {
  Document document;
  for (const std::string& notice : result.notices) {
    document.blocks.emplace_back(Paragraph{notice, Tone::kNotice});
  }
  document.blocks.emplace_back(sides_table(result));
  add_remarks(result, document);
  if (!result.steps.empty()) {
    document.blocks.emplace_back(Heading{"Steps"});
    document.blocks.emplace_back(steps_table(result));
  }
  document.blocks.emplace_back(Heading{"Layers"});
  document.blocks.emplace_back(layers_table(result));
  add_bits(result, document);
  document.data = result_json(result);
  return document;
}

}  // namespace trainyard::report
