#include "analysis/receptive_field.h"

#include <algorithm>
#include <optional>

#include "analysis/storage.h"
#include "base/error.h"
#include "ops/layout/slice.h"
#include "ops/op_def.h"
#include "ops/vision/resize.h"

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

// size and jump as in Araujo et al. 2019: first and last move by the window, jump grows by the
// stride.
void slide(const ops::Window& window, Field& field) {
  for (size_t i = 0; i < field.extents.size(); ++i) {
    Extent& extent = field.extents[i];
    const double jump = extent.jump;
    const auto begin = static_cast<double>(-window.pads_begin[i]);
    const auto reach = static_cast<double>((window.kernel[i] - 1) * window.dilations[i]);
    extent.first += jump * begin;
    extent.last += jump * (begin + reach);
    extent.jump = jump * static_cast<double>(window.strides[i]);
  }
}

// The transpose of slide(): output o meets inputs i with o = i * stride - pad + k * dilation. How
// many depends on the remainder of o; the most count.
void spread(const ops::Window& window, Field& field) {
  for (size_t i = 0; i < field.extents.size(); ++i) {
    Extent& extent = field.extents[i];
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i];
    const auto stride = static_cast<double>(window.strides[i]);
    const double middle =
        (static_cast<double>(window.pads_begin[i]) - static_cast<double>(reach) / 2) / stride;
    const int64_t steps_between = reach / window.strides[i];
    const auto inputs_between = static_cast<double>(steps_between);
    extent.first += extent.jump * (middle - inputs_between / 2);
    extent.last += extent.jump * (middle + inputs_between / 2);
    extent.jump /= stride;
  }
}

// The field after a node, given the field that all its inputs span.
class Step {
 public:
  Step(const NodeView& node, Field field)
      : node_(node), field_(std::move(field)), rank_(static_cast<int64_t>(field_.extents.size())) {}

  Field take() {
    if (field_.kind != Field::Kind::kLocal) return std::move(field_);
    if (!apply()) return kWholeInput;
    return std::move(field_);
  }

 private:
  const Shape& x() const { return node_.input_shape(0); }
  const Shape& y() const { return node_.output_shape(0); }
  bool is_spatial(int64_t axis, const Shape& shape) const {
    return normalize_axis(axis, shape.rank(), node_.op()) >= shape.rank() - rank_;
  }

  bool keeps_spatial_dims(const Shape& from) const {
    if (from.rank() < rank_ || y().rank() < rank_) return false;
    return std::equal(from.dims().end() - rank_, from.dims().end(), y().dims().end() - rank_);
  }

  bool apply() {
    const std::string& op = node_.op();
    const ops::OpDef& def = ops::op_of(node_);
    if (op.starts_with("Global")) return false;
    if (def.window != nullptr) return apply_window(def);
    if (op == "ConvTranspose") return apply_transposed_window();
    if (op == "Resize") return apply_resize();
    if (op == "Pad") return apply_pad();
    if (op == "Slice") return apply_slice();
    if (op == "Transpose") return keeps_order();
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") {
      return !is_spatial(node_.attr_int("axis", -1), x());
    }
    if (op == "Concat") return !is_spatial(node_.attr_int("axis", 0), y());
    return is_pointwise(def);
  }

  // Operators that are not known to work position by position are taken to mix them all.
  bool is_pointwise(const ops::OpDef& def) const {
    switch (def.kind) {
      case ops::OpKind::kActivation:
      case ops::OpKind::kElementwise:
      case ops::OpKind::kQuantization:
        return true;
      default:
        break;
    }
    if (is_view(node_)) return keeps_spatial_dims(x());
    return def.name == "BatchNormalization" || def.name == "LRN" || def.name == "Dropout" ||
           def.name == "Cast";
  }

  bool apply_window(const ops::OpDef& def) {
    const auto window = def.window(node_);
    if (!window || window->rank() != field_.extents.size()) return false;
    slide(*window, field_);
    return true;
  }

  bool apply_transposed_window() {
    const ops::Window window = ops::resolve_transposed_window(node_, x(), node_.input_shape(1));
    if (window.rank() != field_.extents.size()) return false;
    spread(window, field_);
    return true;
  }

  bool apply_resize() {
    const std::string grid = node_.attr_text("coordinate_transformation_mode", "half_pixel");
    const std::string mode = node_.attr_text("mode", "nearest");
    const auto sizes = ops::resize_sizes(node_);
    if (!sizes || grid == "tf_crop_and_resize") return false;
    // Interpolation takes two or four neighbors in each dimension.
    const double between = mode == "nearest" ? 0 : mode == "linear" ? 1 : 3;
    const bool first_on_first =
        mode != "nearest" && (grid == "asymmetric" || grid == "align_corners");
    for (int64_t i = 0; i < rank_; ++i) {
      Extent& extent = field_.extents[static_cast<size_t>(i)];
      const double scale = sizes->scales[static_cast<size_t>(x().rank() - rank_ + i)];
      const double middle = first_on_first ? 0 : 0.5 / scale - 0.5;
      extent.first += extent.jump * (middle - between / 2);
      extent.last += extent.jump * (middle + between / 2);
      extent.jump /= scale;
    }
    return true;
  }

  void shift(size_t dim, int64_t positions, int64_t step) {
    Extent& extent = field_.extents[dim];
    extent.first += extent.jump * static_cast<double>(positions);
    extent.last += extent.jump * static_cast<double>(positions);
    extent.jump *= static_cast<double>(step);
  }

  bool apply_pad() {
    const auto pads = node_.input_ints(1);
    if (!pads) return false;
    for (int64_t i = 0; i < rank_; ++i) {
      const int64_t axis = x().rank() - rank_ + i;
      shift(static_cast<size_t>(i), -(*pads)[static_cast<size_t>(axis)], 1);
    }
    return true;
  }

  bool apply_slice() {
    const auto ranges = ops::slice_ranges(node_, node_.input_shape(0));
    if (!ranges) return false;
    for (int64_t i = 0; i < rank_; ++i) {
      const auto axis = static_cast<size_t>(x().rank() - rank_ + i);
      // Backward slices turn the order of positions around.
      if (ranges->steps[axis] < 0) return false;
      shift(static_cast<size_t>(i), ranges->starts[axis], ranges->steps[axis]);
    }
    return true;
  }

  // Channels may move; the spatial dimensions must stay last and in order.
  bool keeps_order() const {
    const std::vector<int64_t> perm = node_.attr_ints("perm", {});
    if (perm.empty()) return false;
    for (int64_t axis = x().rank() - rank_; axis < x().rank(); ++axis) {
      if (perm[static_cast<size_t>(axis)] != axis) return false;
    }
    return true;
  }

  const NodeView& node_;
  Field field_;
  int64_t rank_;
};

// A value that is stretched over positions brings what it sees to all of them.
bool is_stretched(const NodeView& node, size_t input, size_t spatial) {
  if (!is_elementwise(node)) return false;
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
  return Step(node, std::move(seen)).take();
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
