// Receptive fields of a network's layers and of plain stacks.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/view.h"
#include "base/text.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using analysis::Extent;
using analysis::LayerField;
using analysis::StackField;

// "7x7", or one number where all dimensions agree and `always_all` is false.
// At least one dimension.
template <typename Get>
std::string per_dimension(const std::vector<Extent>& extents, bool always_all, Get get) {
  std::vector<std::string> parts;
  for (const Extent& extent : extents) parts.push_back(fmt::format("{}", get(extent)));
  const bool equal = std::equal(parts.begin() + 1, parts.end(), parts.begin());
  if (equal && !always_all) return parts.front();
  return join(parts, always_all ? "x" : ", ");
}

std::vector<Cell> field_row(const LayerField& layer) {
  if (!layer.sees_input) return {layer.name, layer.op, "none", "", ""};
  if (layer.whole_input()) return {layer.name, layer.op, "whole input", "", ""};
  const auto& e = layer.extents;
  return {layer.name, layer.op, per_dimension(e, true, [](const Extent& x) { return x.size(); }),
          per_dimension(e, false, [](const Extent& x) { return x.jump; }),
          per_dimension(e, false, [](const Extent& x) { return x.center(); })};
}

// JSON has the size of the input where people read "whole input".
Json field_json(const LayerField& layer, const std::vector<int64_t>& input) {
  Json json = Json::object({{"name", layer.name}, {"op", layer.op}});
  json["sees_input"] = layer.sees_input;
  json["whole_input"] = layer.whole_input();
  if (layer.whole_input()) json["size"] = Json::array_of(input);
  if (layer.extents.empty()) return json;
  for (const char* key : {"size", "jump", "center", "first", "last"}) json[key] = Json::array();
  for (const Extent& extent : layer.extents) {
    json["size"].push_back(extent.size());
    json["jump"].push_back(extent.jump);
    json["center"].push_back(extent.center());
    json["first"].push_back(extent.first);
    json["last"].push_back(extent.last);
  }
  return json;
}

std::string square(int64_t size) {
  return fmt::format("{0}x{0}", size);
}

// The formula for N equal filters at stride 1, with the numbers filled in.
// Empty where kernels or strides differ, as the formula does not hold then.
std::string formula(std::span<const StackField> layers) {
  const int64_t f = layers.front().kernel;
  const bool plain = std::all_of(layers.begin(), layers.end(), [&](const StackField& layer) {
    return layer.kernel == f && layer.stride == 1;
  });
  if (!plain) return "";
  const auto n = static_cast<int64_t>(layers.size());
  return fmt::format(": N*F - N + 1 = {}*{} - {} + 1 = {}", n, f, n, layers.back().size);
}

// What Simonyan and Zisserman (2014) argue: the stack has fewer weights and more non-linearities.
std::string weights_text(std::span<const StackField> layers) {
  double stack = 0;
  for (const StackField& layer : layers) {
    stack += static_cast<double>(layer.kernel) * static_cast<double>(layer.kernel);
  }
  const double single =
      static_cast<double>(layers.back().size) * static_cast<double>(layers.back().size);
  return fmt::format(
      "With C channels in and out it has {:.0f} C^2 weights and {} non-linearities, that filter "
      "{:.0f} "
      "C^2 and 1.",
      stack, layers.size(), single);
}

}  // namespace

Document receptive_field_document(const analysis::FieldTable& table) {
  Table rows({{"layer", Align::kLeft, kWidestName, "name"},
              {"op", Align::kLeft},
              {"size"},
              {"jump"},
              {"center", Align::kRight, 0, "center"}});
  Document document;
  document.data = Json::object({{"model", table.model}, {"input", Json::array_of(table.input)}});
  Json& layers = document.data["layers"] = Json::array();
  for (const LayerField& layer : table.layers) {
    rows.add_row(field_row(layer));
    layers.push_back(field_json(layer, table.input));
  }
  document.blocks = {
      Heading{table.model + ": receptive fields"}, std::move(rows),
      Paragraph{"- size: input pixels that one output position depends on, along the largest path, "
                "padding\n  included (so it may exceed the input)\n"
                "- jump: input pixels between neighboring output positions\n"
                "- center: the middle of the first position's field; pixel 0 is the first"}};
  return document;
}

// At least one layer.
Document stack_document(std::span<const StackField> layers) {
  const auto size = [](int64_t StackField::*member) {
    return [member](const StackField& layer) { return Cell(square(layer.*member)); };
  };
  const StackField* const first = layers.data();
  const auto index = [first](const StackField& layer) { return count_cell(&layer - first + 1); };
  const Fields<StackField> fields = {
      Field<StackField>::shown({"layer"}, index),
      {"kernel", {"kernel"}, &StackField::kernel, size(&StackField::kernel)},
      {"stride", {"stride"}, &StackField::stride},
      {"size", {"receptive field"}, &StackField::size, size(&StackField::size)},
      {"jump", {"jump"}, &StackField::jump}};
  const StackField& last = layers.back();
  const std::string stride =
      last.jump > 1 ? fmt::format(" at stride {}", with_commas(last.jump)) : "";
  Document document;
  document.blocks = {
      table_of(fields, layers),
      Paragraph{fmt::format("The stack sees {}, as one {} filter{} does{}.", square(last.size),
                            square(last.size), stride, formula(layers))},
      Paragraph{weights_text(layers)}};
  document.data = Json::object({{"receptive_field", last.size},
                                {"jump", last.jump},
                                {"equals_filter", square(last.size)},
                                {"layers", objects_of(fields, layers)}});
  return document;
}

}  // namespace trainyard::report
