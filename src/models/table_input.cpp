#include "models/table_input.h"

#include <algorithm>

#include "base/error.h"
#include "ops/builder.h"

namespace trainyard::network {
namespace {

constexpr const char* kTableKey = "trainyard.table";
constexpr int64_t kOnnxFloat = 1;

// Indices and numbers of columns, gathered while the columns are walked.
struct ColumnLists {
  std::vector<int64_t> numbers;
  std::vector<float> means;
  std::vector<float> scales;
  std::vector<int64_t> may_miss;
  std::vector<int64_t> categories;  // a column stands here once for each of its values
  std::vector<float> values;
};

ColumnLists lists_of(const data::TableSchema& schema) {
  ColumnLists lists;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const data::TableColumn& column = schema.columns[i];
    const auto at = static_cast<int64_t>(i);
    if (column.kind == data::ColumnKind::kCategory) {
      for (size_t value = 0; value < column.values.size(); ++value) {
        lists.categories.push_back(at);
        lists.values.push_back(static_cast<float>(value));
      }
      continue;
    }
    lists.numbers.push_back(at);
    lists.means.push_back(static_cast<float>(column.mean));
    lists.scales.push_back(static_cast<float>(1 / column.std));
    if (column.may_miss) lists.may_miss.push_back(at);
  }
  return lists;
}

class TableNodes {
 public:
  TableNodes(ops::Builder& builder, ValueId rows) : b_(builder), rows_(rows) {}

  std::vector<ValueId> parts(const ColumnLists& lists) {
    std::vector<ValueId> parts;
    if (!lists.numbers.empty()) parts.push_back(numbers(lists));
    if (!lists.may_miss.empty()) {
      const ValueId own = columns(lists.may_miss, "missing");
      parts.push_back(as_float(b_.add("IsNaN", {own}, {}, "table.missing.nan"), "table.missing"));
    }
    if (!lists.categories.empty()) {
      const ValueId own = columns(lists.categories, "categories");
      const ValueId wanted = b_.constant("table.categories.values", vector_of(lists.values));
      parts.push_back(as_float(b_.add("Equal", {own, wanted}, {}, "table.categories.equal"),
                               "table.categories"));
    }
    return parts;
  }

 private:
  static Tensor vector_of(const std::vector<float>& numbers) {
    Tensor tensor(DType::kF32, Shape{static_cast<int64_t>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), tensor.values<float>().begin());
    return tensor;
  }

  ValueId columns(const std::vector<int64_t>& which, const std::string& name) {
    const ValueId indices = b_.constant_ints("table." + name + ".columns", which);
    return b_.add("Gather", {rows_, indices}, {{"axis", int64_t{1}}}, "table." + name + ".gather");
  }

  ValueId as_float(ValueId x, const std::string& name) {
    return b_.add("Cast", {x}, {{"to", kOnnxFloat}}, name);
  }

  // (x - mean) / std, 0 where x is missing.
  ValueId numbers(const ColumnLists& lists) {
    const ValueId own = columns(lists.numbers, "numbers");
    const ValueId mean = b_.constant("table.numbers.mean", vector_of(lists.means));
    const ValueId scale = b_.constant("table.numbers.scale", vector_of(lists.scales));
    const ValueId centered = b_.add("Sub", {own, mean}, {}, "table.numbers.centered");
    const ValueId scaled = b_.add("Mul", {centered, scale}, {}, "table.numbers.scaled");
    const ValueId missing = b_.add("IsNaN", {own}, {}, "table.numbers.nan");
    const ValueId zero = b_.constant_scalar("table.numbers.zero", 0.0F);
    return b_.add("Where", {missing, zero, scaled}, {}, "table.numbers");
  }

  ops::Builder& b_;
  ValueId rows_;
};

// From the scale of training to that of the table.
void scale_output(Graph& graph, ops::Builder& builder, const data::TableTarget& target) {
  const ValueId out = graph.outputs()[0];
  const ValueId std = builder.constant_scalar("table.target.std", static_cast<float>(target.std));
  const ValueId mean =
      builder.constant_scalar("table.target.mean", static_cast<float>(target.mean));
  const ValueId scaled = builder.add("Mul", {out, std}, {}, "table.target.scaled");
  const ValueId number = builder.add("Add", {scaled, mean}, {}, "table.target");
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  outputs[0] = number;
  graph.set_outputs(std::move(outputs));
  graph.rename_value(number, graph.unique_name(kNumberOutput));
}

}  // namespace

void add_table(Graph& graph, const data::TableSchema& schema) {
  const ValueId old = graph.inputs()[0];
  const Shape shape = graph.value(old).type.shape;
  TY_CHECK(shape == (Shape{shape[0], schema.width()}), "{} of {} numbers", shape.to_string(),
           schema.width());
  ops::Builder builder(graph);
  const ValueId rows = builder.input(graph.unique_name(kRowsInput),
                                     {DType::kF32, Shape{shape[0], schema.columns_count()}});
  const std::vector<ValueId> parts = TableNodes(builder, rows).parts(lists_of(schema));
  const ValueId prepared =
      parts.size() == 1 ? parts[0]
                        : builder.add("Concat", parts, {{"axis", int64_t{1}}}, "table.prepared");
  graph.replace_uses(old, prepared);
  graph.erase_value(old);
  const data::TableTarget& target = schema.target;
  if (target.is_number() && (target.mean != 0 || target.std != 1)) {
    scale_output(graph, builder, target);
  }
  graph.sort();
}

std::optional<data::TableSchema> table_of(const onnx_io::Metadata& metadata) {
  const auto note = metadata.find(kTableKey);
  if (note == metadata.end()) return std::nullopt;
  return data::TableSchema::parse(note->second, kTableKey);
}

void note_table(const data::TableSchema& schema, onnx_io::Metadata& metadata) {
  metadata[kTableKey] = schema.json().dump(-1);
}

}  // namespace trainyard::network
