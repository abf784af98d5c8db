// Layers, totals by kind, and two networks side by side.
#include <fmt/format.h>

#include "analysis/view.h"
#include "base/text.h"
#include "report/fields.h"

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

struct ShareOf {
  int digits;
  Cell operator()(double part) const {
    return {part == 0 ? "-" : fmt::format("{:.{}f}", 100 * part, digits), fmt::format("{}", part)};
  }
};

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

// Where a view shows less than all figures, the rest is for programs alone.
enum class Shown : uint8_t { kLayers, kKinds };

Fields<Figures> figure_fields(const Figures& totals, Shown shown) {
  const bool layers = shown == Shown::kLayers;
  const auto column = [](bool here, std::string title) {
    return here ? Column{std::move(title)} : Column{};
  };
  const auto macs = [&totals](const Figures& f) { return share(f.cost.macs, totals.cost.macs); };
  const auto flops = [&totals](const Figures& f) { return share(f.cost.flops, totals.cost.flops); };
  Fields<Figures> fields = {
      {"activations", {"activ"}, &Figures::activations, short_cell},
      {"activation_bytes", column(layers, "bytes"), &Figures::activation_bytes, short_cell},
      {"params", {"params"}, [](const Figures& f) { return f.params.trainable(); }, exact_cell},
      {"params_without_bias", column(layers, "no bias"),
       [](const Figures& f) { return f.params.weights; }, exact_cell},
      {"statistics", [](const Figures& f) { return f.params.statistics; }},
      {"macs",
       {"MACs"},
       [](const Figures& f) { return f.cost.macs; },
       layers ? short_cell : exact_cell}};
  // By kind the shares stand beside what they are shares of.
  if (!layers) fields.push_back({"macs_share", {"% MACs"}, macs, ShareOf{2}});
  fields.push_back({"flops", {"FLOPs"}, [](const Figures& f) { return f.cost.flops; }, short_cell});
  if (!layers) fields.push_back({"flops_share", {"% FLOPs"}, flops, ShareOf{2}});
  fields.push_back({"bytes_read", [](const Figures& f) { return f.cost.bytes_read; }});
  fields.push_back({"bytes_written", [](const Figures& f) { return f.cost.bytes_written; }});
  fields.push_back({"bytes_moved", {"moved"}, &Figures::bytes_moved, short_cell});
  fields.push_back({"intensity", {"F/B"}, &Figures::intensity, intensity_cell});
  if (layers) fields.push_back({"macs_share", {"%MACs"}, macs, ShareOf{1}});
  if (layers) fields.push_back({"flops_share", flops});
  return fields;
}

Fields<Layer> layer_fields(const LayerTable& table, int64_t batch) {
  const auto kind = [](const Layer& layer) {
    return Cell(std::string(short_kind(layer.kind)), std::string(layer.kind));
  };
  const auto shape = [](const Layer& layer) { return Json::array_of(layer.output_shape.dims()); };
  const Fields<Layer> names = {
      {"name", {"layer", Align::kLeft, kWidestName}, &Layer::name},
      {"op", &Layer::op},
      {"kind", {"kind", Align::kLeft}, &Layer::kind, kind},
      {"output_shape",
       {"output", Align::kLeft, kWidestShape},
       shape,
       [batch](const Layer& layer) { return shape_cell(layer.output_shape, batch); }},
      {"in_place", &Layer::in_place}};
  return joined(names,
                of_part<Layer>(figure_fields(table.totals, Shown::kLayers), &Layer::figures));
}

std::vector<Cell> total_row(const LayerTable& table) {
  // A row of totals made like a layer's, but without a shape.
  Layer total;
  total.name = "total";
  total.figures = table.totals;
  std::vector<Cell> row = cells_of(layer_fields(table, 0), total);
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

Json layer_json(const Fields<Layer>& fields, const Layer& layer) {
  Json json = object_of(fields, layer);
  if (!layer.kernel.empty()) {
    json["kernel"] = Json::array_of(layer.kernel);
    json["strides"] = Json::array_of(layer.strides);
    json["pads"] = Json::array_of(layer.pads);
  }
  return json;
}

Json totals_json(const LayerTable& table) {
  Json json = object_of(figure_fields(table.totals, Shown::kLayers), table.totals);
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
  const Fields<Layer> fields = layer_fields(table, batch);
  Table rows = table_of(fields, table.layers, Heads::kKeys);
  rows.add_rule();
  rows.add_row(total_row(table));
  Document document;
  document.data = table_json(table, batch);
  Json& layers = document.data["layers"] = Json::array();
  for (const Layer& layer : table.layers) layers.push_back(layer_json(fields, layer));
  document.blocks = {Heading{title(table, batch)}, std::move(rows), layer_notes(table)};
  return document;
}

Document kinds_document(const LayerTable& table, int64_t batch) {
  using analysis::KindTotal;
  const Fields<KindTotal> fields = joined<KindTotal>(
      {{"kind", {"kind", Align::kLeft}, &KindTotal::kind},
       {"layers", {"layers"}, &KindTotal::layers}},
      of_part<KindTotal>(figure_fields(table.totals, Shown::kKinds), &KindTotal::figures));
  Table rows = table_of(fields, table.kinds, Heads::kKeys);
  rows.add_rule();
  rows.add_row(cells_of(
      fields, KindTotal{"total", static_cast<int64_t>(table.layers.size()), table.totals}));
  Document document;
  document.data = table_json(table, batch);
  document.data["kinds"] = objects_of(fields, table.kinds);
  document.blocks = {
      Heading{title(table, batch) + ", by kind"}, std::move(rows),
      Paragraph{params_text(table) + "\n" + cost_text(table) + "\n" + not_counted_text(table)}};
  return document;
}

// `a` is what `b` is compared with.
Document comparison_document(const LayerTable& a, const LayerTable& b, int64_t batch) {
  using analysis::ComparedQuantity;
  const auto name = [](const ComparedQuantity& q) { return Cell(quantity_label(q.name), q.name); };
  const Fields<ComparedQuantity> fields = {
      {"name", {"total", Align::kLeft}, &ComparedQuantity::name, name},
      {"a", {a.model, Align::kRight, 0, "a"}, &ComparedQuantity::a},
      {"b", {b.model, Align::kRight, 0, "b"}, &ComparedQuantity::b},
      {"difference", {"difference"}, &ComparedQuantity::difference},
      {"saving", {"saved"}, &ComparedQuantity::saving, Percent()}};
  Table rows = empty_table(fields);
  rows.add_row({"output", outputs_text(a), outputs_text(b), "", ""});
  const auto compared = analysis::compare(a, b);
  for (const ComparedQuantity& q : compared) rows.add_row(cells_of(fields, q));
  Document document;
  document.data = Json::object({{"a", table_json(a, batch)}, {"b", table_json(b, batch)}});
  document.data["comparison"] = objects_of(fields, compared);
  document.blocks = {Heading{fmt::format("{} and {}, batch {}", a.model, b.model, batch)},
                     std::move(rows),
                     Paragraph{"saved: what the second does without, as a share of the first; a "
                               "MAC counts as 2 FLOPs"}};
  return document;
}

}  // namespace trainyard::report
