#include "program/table_rows.h"

#include "base/error.h"
#include "data/table/table_set.h"
#include "models/table_input.h"
#include "program/class_scores.h"

namespace trainyard::cli {
namespace {

report::Column named(const std::string& name) {
  return {name, report::Align::kLeft};
}

}  // namespace

Tensor read_table_input(const std::string& file, const onnx_io::Metadata& metadata) {
  const auto schema = network::table_of(metadata);
  TY_REQUIRE(schema,
             "{}: the file of the model does not say what columns of a table mean to it; 'train "
             "--data csv:FILE,target=COLUMN' makes one that does, others take F.npy",
             file);
  return data::read_rows(file, *schema);
}

void add_table_shapes(const std::vector<onnx_io::DeclaredInput>& declared,
                      const std::vector<std::string>& texts, const onnx_io::Metadata& metadata,
                      std::map<std::string, Shape>& shapes) {
  std::vector<std::string> names;
  for (const onnx_io::DeclaredInput& input : declared) names.push_back(input.name);
  for (const auto& [index, file] : parse_given(texts, names)) {
    const onnx_io::DeclaredInput& input = declared[index];
    if (!data::is_table_file(file) || !input.dims || input.dims->empty()) continue;
    if (input.dims->front().value) continue;
    const Shape rows = read_table_input(file, metadata).shape();
    const auto columns = input.dims->size() == 2 ? (*input.dims)[1].value : rows[1];
    TY_REQUIRE(input.dims->size() == 2 && (!columns || *columns == rows[1]),
               "{}: a row becomes {} numbers, but input '{}' of the model takes {}", file, rows[1],
               input.name,
               input.dims->size() == 2 ? fmt::format("{} for each row", *columns)
                                       : fmt::format("{} dimensions", input.dims->size()));
    shapes.insert_or_assign(input.name, rows);
  }
}

bool add_foretold(const Tensor& output, const onnx_io::Metadata& metadata,
                  std::span<const std::string> labels, report::Document& document, Json& entry) {
  const auto schema = network::table_of(metadata);
  if (!schema || output.dtype() != DType::kF32 || output.shape().rank() < 1) return false;
  const int64_t rows = output.shape()[0];
  const std::string& target = schema->target.name;
  Json list = Json::array();
  if (schema->target.is_number()) {
    if (output.num_elements() != rows) return false;
    report::Table table({{"row"}, named(target)});
    for (int64_t i = 0; i < rows; ++i) {
      const double number = element_as_double(output, i);
      table.add_row({report::count_cell(i + 1), fmt::format("{:.6g}", number)});
      list.push_back(number);
    }
    document.blocks.emplace_back(std::move(table));
  } else {
    if (!is_class_scores(output)) return false;
    report::Table table({{"row"}, named(target), {"probability"}});
    for (int64_t i = 0; i < rows; ++i) {
      const ClassScore best = best_classes(output, 1, i)[0];
      const auto at = static_cast<size_t>(best.index);
      const std::string label = at < labels.size() ? labels[at] : fmt::format("{}", best.index);
      table.add_row({report::count_cell(i + 1), label, report::percent_cell(best.probability, 2)});
      list.push_back(Json::object({{"label", label}, {"probability", best.probability}}));
    }
    document.blocks.emplace_back(std::move(table));
  }
  entry["foretold"] = std::move(list);
  return true;
}

}  // namespace trainyard::cli
