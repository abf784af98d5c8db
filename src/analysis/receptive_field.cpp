#include "analysis/receptive_field.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

// What is known of a value: nothing of the input, all of it, or a field per position.
struct Field {
  enum class Kind : uint8_t { kNone, kWhole, kLocal };
  Kind kind = Kind::kNone;
  std::vector<Extent> extents;
};

const Field kWholeInput = {Field::Kind::kWhole, {}};

// The union; inputs that see different dimensions together see everything.
Field merge(const Field& a, const Field& b) {
  if (a.kind == Field::Kind::kNone) return b;
  if (b.kind == Field::Kind::kNone) return a;
  if (a.kind == Field::Kind::kWhole || a.extents.size() != b.extents.size()) return kWholeInput;
  if (b.kind == Field::Kind::kWhole) return kWholeInput;
  Field both = a;
  for (size_t i = 0; i < both.extents.size(); ++i) {
    Extent& extent = both.extents[i];
    extent.first = std::min(extent.first, b.extents[i].first);
    extent.last = std::max(extent.last, b.extents[i].last);
    extent.jump = std::max(extent.jump, b.extents[i].jump);
  }
  return both;
}

// The field after a node, given the field that all its inputs span.
Field after(const NodeView& node, Field field) {
  if (field.kind != Field::Kind::kLocal) return field;
  const ops::Reaches reaches = ops::reach_of(node, field.extents.size());
  if (!reaches) return kWholeInput;
  for (size_t i = 0; i < field.extents.size(); ++i) {
    Extent& extent = field.extents[i];
    extent.first += extent.jump * (*reaches)[i].first;
    extent.last += extent.jump * (*reaches)[i].last;
    extent.jump *= (*reaches)[i].step;
  }
  return field;
}

// A value that is stretched over positions brings what it sees to all of them.
bool is_stretched(const NodeView& node, size_t input, size_t spatial) {
  if (!ops::may_overwrite(node)) return false;
  const Shape& x = node.input_shape(input);
  const Shape& y = node.output_shape(0);
  for (int64_t i = 1; i <= static_cast<int64_t>(spatial); ++i) {
    if (i > y.rank()) return false;
    if (i > x.rank() || x.dim(-i) != y.dim(-i)) return true;
  }
  return false;
}

Field field_of(const NodeView& node, const std::vector<Field>& fields) {
  Field seen;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    const Field& field = fields[static_cast<size_t>(node.input(i).index)];
    const bool stretched =
        field.kind == Field::Kind::kLocal && is_stretched(node, i, field.extents.size());
    seen = merge(seen, stretched ? kWholeInput : field);
  }
  if (!node.has_output(0) || !node.has_input(0)) return seen;
  return after(node, std::move(seen));
}

// Batch and channels come first.
Field input_field(const Shape& shape) {
  if (shape.rank() < 3) return kWholeInput;  // no spatial dimensions
  return {Field::Kind::kLocal, std::vector<Extent>(static_cast<size_t>(shape.rank() - 2))};
}

LayerField layer_field(std::string name, std::string op, const Field& field) {
  return {.name = std::move(name),
          .op = std::move(op),
          .extents = field.extents,
          .sees_input = field.kind != Field::Kind::kNone};
}

}  // namespace

FieldTable analyze_receptive_fields(const Graph& graph) {
  FieldTable table;
  table.model = graph.name();
  std::vector<Field> fields(graph.value_limit());
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    Field& field = fields[static_cast<size_t>(id.index)];
    field = input_field(value.type.shape);
    table.layers.push_back(layer_field(value.name, "Input", field));
    if (id == graph.inputs()[0] && field.kind == Field::Kind::kLocal) {
      table.input.assign(value.type.shape.dims().begin() + 2, value.type.shape.dims().end());
    }
  }
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    const Field field = field_of(node, fields);
    table.layers.push_back(layer_field(node.name(), node.op(), field));
    for (const ValueId output : node.node().outputs) {
      if (output.valid()) fields[static_cast<size_t>(output.index)] = field;
    }
  }
  return table;
}

std::vector<StackField> stack_fields(std::span<const int64_t> kernels,
                                     std::span<const int64_t> strides) {
  TY_REQUIRE(!kernels.empty(), "a stack needs at least one kernel size");
  TY_REQUIRE(strides.empty() || strides.size() == kernels.size(),
             "{} strides for {} kernels; give one for each kernel, or none", strides.size(),
             kernels.size());
  std::vector<StackField> layers;
  StackField field;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const int64_t stride = strides.empty() ? 1 : strides[i];
    TY_REQUIRE(kernels[i] >= 1 && stride >= 1,
               "layer {} has kernel {} and stride {}; both must be 1 or more", i + 1, kernels[i],
               stride);
    // Sizes grow without bound over the layers, so every step is checked.
    int64_t reach = 0;
    const bool overflow = __builtin_mul_overflow(kernels[i] - 1, field.jump, &reach) ||
                          __builtin_add_overflow(field.size, reach, &field.size) ||
                          __builtin_mul_overflow(field.jump, stride, &field.jump);
    TY_REQUIRE(!overflow, "the receptive field of layer {} is too large to count", i + 1);
    field.kernel = kernels[i];
    field.stride = stride;
    layers.push_back(field);
  }
  return layers;
}

int64_t receptive_field(std::span<const int64_t> kernels, std::span<const int64_t> strides) {
  return stack_fields(kernels, strides).back().size;
}

}  // namespace trainyard::analysis
