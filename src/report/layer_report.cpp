// Layers, totals by kind, and two networks side by side.
#include <fmt/format.h>

#include "base/text.h"
#include "report/analysis.h"

namespace trainyard::report {
namespace {

using analysis::Figures;
using analysis::Layer;
using analysis::LayerTable;
using analysis::share;

constexpr size_t kWidestShape = 16;

// Zero is "-" for people, so that the layers that matter stand out.
Cell short_cell(int64_t number) {
  return {number == 0 ? "-" : si(static_cast<double>(number)), fmt::format("{}", number)};
}

Cell exact_cell(int64_t number) {
  return {number == 0 ? "-" : with_commas(number), fmt::format("{}", number)};
}

Cell intensity_cell(double intensity) {
  const int digits = intensity < 10 ? 2 : intensity < 100 ? 1 : 0;
  return {intensity == 0 ? "-" : fmt::format("{:.{}f}", intensity, digits),
          fmt::format("{}", intensity)};
}

Cell share_cell(double part, int digits) {
  return {part == 0 ? "-" : fmt::format("{:.{}f}", 100 * part, digits), fmt::format("{}", part)};
}

// Kinds in words that leave room for the numbers; CSV and JSON have the long ones.
std::string_view short_kind(std::string_view kind) {
  if (kind == "convolution") return "conv";
  if (kind == "normalization") return "norm";
  if (kind == "activation") return "act";
  if (kind == "elementwise") return "elem";
  if (kind == "reduction") return "reduce";
  if (kind == "pooling") return "pool";
  if (kind == "quantization") return "quant";
  if (kind == "optimizer") return "optim";
  return kind;
}

// Without the batch, which the heading names.
Cell shape_cell(const Shape& shape, int64_t batch) {
  std::string text = shape.to_string();
  if (shape.rank() >= 2 && shape[0] == batch) {
    text = Shape(shape.dims().subspan(1)).to_string();
  }
  return {text, shape.to_string()};
}

std::vector<Cell> layer_row(const Layer& layer, const LayerTable& table, int64_t batch) {
  const Figures& f = layer.figures;
  return {layer.name,
          Cell(std::string(short_kind(layer.kind)), std::string(layer.kind)),
          shape_cell(layer.output_shape, batch),
          short_cell(f.activations),
          short_cell(f.activation_bytes),
          exact_cell(f.params.trainable()),
          exact_cell(f.params.weights),
          short_cell(f.cost.macs),
          short_cell(f.cost.flops),
          short_cell(f.bytes_moved()),
          intensity_cell(f.intensity()),
          share_cell(share(f.cost.macs, table.totals.cost.macs), 1)};
}

std::vector<Cell> total_row(const LayerTable& table) {
  // A row of totals made like a layer's, but without a shape.
  Layer total;
  total.name = "total";
  total.figures = table.totals;
  std::vector<Cell> row = layer_row(total, table, 0);
  row[2] = "";
  return row;
}

std::string not_counted_text(const LayerTable& table) {
  std::string without;
  std::string unknown;
  for (const analysis::NotCounted& entry : table.not_counted) {
    std::string& list = entry.unknown_shape ? unknown : without;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", entry.op, entry.nodes);
  }
  std::string text = fmt::format("- not counted, as they do no arithmetic: {}",
                                 without.empty() ? "none" : without);
  if (!unknown.empty()) {
    text += fmt::format("\n- not counted, as only the data decides their size: {}", unknown);
  }
  return text;
}

std::string params_text(const LayerTable& table) {
  const analysis::ParamCounts& params = table.totals.params;
  std::string text = fmt::format("- {} parameters, {} without biases",
                                 with_commas(params.trainable()), with_commas(params.weights));
  if (params.statistics > 0) {
    text += fmt::format("; besides, {} running statistics", with_commas(params.statistics));
  }
  return text;
}

std::string cost_text(const LayerTable& table) {
  return fmt::format(
      "- {} MACs, {} FLOPs; a MAC is one multiply-add and counts as 2 FLOPs,\n"
      "  everything else (adding a bias, comparing, exp) as 1 FLOP and no MAC",
      with_commas(table.totals.cost.macs), with_commas(table.totals.cost.flops));
}

Paragraph layer_notes(const LayerTable& table) {
  const Figures& totals = table.totals;
  std::string text = params_text(table) + "\n" + cost_text(table);
  text += fmt::format(
      "\n- {} activations ({}); {} without views and element-wise layers in place\n"
      "- moved: bytes of all operands, each read or written once; F/B: FLOPs per byte moved\n",
      with_commas(totals.activations), bytes_text(static_cast<double>(totals.activation_bytes)),
      with_commas(table.stored_activations));
  return {text + not_counted_text(table)};
}

Json figures_json(const Figures& f, const Figures& totals) {
  return Json::object({
      {"activations", f.activations},
      {"activation_bytes", f.activation_bytes},
      {"params", f.params.trainable()},
      {"params_without_bias", f.params.weights},
      {"statistics", f.params.statistics},
      {"macs", f.cost.macs},
      {"flops", f.cost.flops},
      {"bytes_read", f.cost.bytes_read},
      {"bytes_written", f.cost.bytes_written},
      {"bytes_moved", f.bytes_moved()},
      {"intensity", f.intensity()},
      {"macs_share", share(f.cost.macs, totals.cost.macs)},
      {"flops_share", share(f.cost.flops, totals.cost.flops)},
  });
}

// `first` in front of the members of `rest`.
Json joined(Json first, const Json& rest) {
  for (const auto& [key, value] : rest.members()) first[key] = value;
  return first;
}

Json layer_json(const Layer& layer, const Figures& totals) {
  Json json = Json::object({{"name", layer.name},
                            {"op", layer.op},
                            {"kind", layer.kind},
                            {"output_shape", Json::array_of(layer.output_shape.dims())},
                            {"in_place", layer.in_place}});
  if (!layer.kernel.empty()) {
    json["kernel"] = Json::array_of(layer.kernel);
    json["strides"] = Json::array_of(layer.strides);
    json["pads"] = Json::array_of(layer.pads);
  }
  return joined(std::move(json), figures_json(layer.figures, totals));
}

Json totals_json(const LayerTable& table) {
  Json json = figures_json(table.totals, table.totals);
  json["stored_activations"] = table.stored_activations;
  return json;
}

// The convention stands in the file, since others count a MAC as one FLOP.
Json table_json(const LayerTable& table, int64_t batch) {
  Json json = Json::object({
      {"model", table.model},
      {"batch", batch},
      {"convention", "1 MAC = 2 FLOPs; every other arithmetic operation is 1 FLOP and no MAC"},
      {"totals", totals_json(table)},
  });
  Json& skipped = json["not_counted"] = Json::array();
  for (const analysis::NotCounted& entry : table.not_counted) {
    skipped.push_back(Json::object(
        {{"op", entry.op}, {"nodes", entry.nodes}, {"unknown_shape", entry.unknown_shape}}));
  }
  return json;
}

std::string title(const LayerTable& table, int64_t batch) {
  return fmt::format("{}, batch {}", table.model, batch);
}

std::string outputs_text(const LayerTable& table) {
  std::vector<std::string> shapes;
  for (const Shape& shape : table.outputs) shapes.push_back(shape.to_string());
  return join(shapes, ", ");
}

std::string quantity_label(const std::string& name) {
  if (name == "params") return "parameters";
  if (name == "params_without_bias") return "  without biases";
  if (name == "macs") return "MACs";
  if (name == "flops") return "FLOPs";
  if (name == "activation_bytes") return "  in bytes";
  if (name == "stored_activations") return "  not in place";
  if (name == "bytes_moved") return "bytes moved";
  return name;
}

}  // namespace

Document layers_document(const LayerTable& table, int64_t batch) {
  Table rows({{"layer", Align::kLeft, kWidestName, "name"},
              {"kind", Align::kLeft},
              {"output", Align::kLeft, kWidestShape, "output_shape"},
              {"activ", Align::kRight, 0, "activations"},
              {"bytes", Align::kRight, 0, "activation_bytes"},
              {"params"},
              {"no bias", Align::kRight, 0, "params_without_bias"},
              {"MACs", Align::kRight, 0, "macs"},
              {"FLOPs", Align::kRight, 0, "flops"},
              {"moved", Align::kRight, 0, "bytes_moved"},
              {"F/B", Align::kRight, 0, "intensity"},
              {"%MACs", Align::kRight, 0, "macs_share"}});
  Document document;
  document.data = table_json(table, batch);
  Json& layers = document.data["layers"] = Json::array();
  for (const Layer& layer : table.layers) {
    rows.add_row(layer_row(layer, table, batch));
    layers.push_back(layer_json(layer, table.totals));
  }
  rows.add_rule();
  rows.add_row(total_row(table));
  document.blocks = {Heading{title(table, batch)}, std::move(rows), layer_notes(table)};
  return document;
}

Document kinds_document(const LayerTable& table, int64_t batch) {
  Table rows({{"kind", Align::kLeft},
              {"layers"},
              {"activ", Align::kRight, 0, "activations"},
              {"params"},
              {"MACs", Align::kRight, 0, "macs"},
              {"% MACs", Align::kRight, 0, "macs_share"},
              {"FLOPs", Align::kRight, 0, "flops"},
              {"% FLOPs", Align::kRight, 0, "flops_share"},
              {"moved", Align::kRight, 0, "bytes_moved"},
              {"F/B", Align::kRight, 0, "intensity"}});
  const auto add = [&](std::string_view kind, int64_t layers, const Figures& f) {
    rows.add_row(
        {kind, count_cell(layers), short_cell(f.activations), exact_cell(f.params.trainable()),
         exact_cell(f.cost.macs), share_cell(share(f.cost.macs, table.totals.cost.macs), 2),
         short_cell(f.cost.flops), share_cell(share(f.cost.flops, table.totals.cost.flops), 2),
         short_cell(f.bytes_moved()), intensity_cell(f.intensity())});
  };
  Document document;
  document.data = table_json(table, batch);
  Json& kinds = document.data["kinds"] = Json::array();
  for (const analysis::KindTotal& kind : table.kinds) {
    add(kind.kind, kind.layers, kind.figures);
    kinds.push_back(joined(Json::object({{"kind", kind.kind}, {"layers", kind.layers}}),
                           figures_json(kind.figures, table.totals)));
  }
  rows.add_rule();
  add("total", static_cast<int64_t>(table.layers.size()), table.totals);
  document.blocks = {
      Heading{title(table, batch) + ", by kind"}, std::move(rows),
      Paragraph{params_text(table) + "\n" + cost_text(table) + "\n" + not_counted_text(table)}};
  return document;
}

// `a` is what `b` is compared with.
Document comparison_document(const LayerTable& a, const LayerTable& b, int64_t batch) {
  Table rows({{"total", Align::kLeft},
              {a.model, Align::kRight, 0, "a"},
              {b.model, Align::kRight, 0, "b"},
              {"difference"},
              {"saved", Align::kRight}});
  Document document;
  document.data = Json::object({{"a", table_json(a, batch)}, {"b", table_json(b, batch)}});
  Json& compared = document.data["comparison"] = Json::array();
  rows.add_row({"output", outputs_text(a), outputs_text(b), "", ""});
  for (const analysis::ComparedQuantity& q : analysis::compare(a, b)) {
    rows.add_row({Cell(quantity_label(q.name), q.name), count_cell(q.a), count_cell(q.b),
                  count_cell(q.difference()), percent_cell(q.saving())});
    compared.push_back(Json::object({{"name", q.name},
                                     {"a", q.a},
                                     {"b", q.b},
                                     {"difference", q.difference()},
                                     {"saving", q.saving()}}));
  }
  document.blocks = {Heading{fmt::format("{} and {}, batch {}", a.model, b.model, batch)},
                     std::move(rows),
                     Paragraph{"saved: what the second does without, as a share of the first; a "
                               "MAC counts as 2 FLOPs"}};
  return document;
}

}  // namespace trainyard::report
