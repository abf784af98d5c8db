#include "onnx_io/adapters.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace trainyard::onnx_io {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

// Removes an attribute and returns its value.
template <typename T>
std::optional<T> take(ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  T* value = std::get_if<T>(&found->second);
  TY_REQUIRE(value != nullptr, "attribute '{}' is {}", name,
             attr_kind_name(attr_kind(found->second)));
  T taken = std::move(*value);
  node.attributes.erase(found);
  return taken;
}

void drop(ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found != node.attributes.end()) node.attributes.erase(found);
}

ValueId input(const ImportNode& node, size_t i) {
  TY_REQUIRE(i < node.inputs.size() && node.inputs[i].valid(), "input {} is missing", i);
  return node.inputs[i];
}

void set_input(ImportNode& node, size_t i, ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1, kNoValue);
  node.inputs[i] = value;
}

// An integer-list attribute that became input `i`.
void ints_to_input(ImportNode& node, Emitter& emitter, std::string_view name, size_t i) {
  if (const auto values = take<Ints>(node, name)) {
    set_input(node, i, emitter.add_ints(node.name + "." + std::string(name), *values));
  }
}

// A number in the type of input 0, as an attribute that became an input is given.
ValueId scalar_like(const ImportNode& node, Emitter& emitter, std::string_view name, double value) {
  return emitter.add_constant(node.name + "." + std::string(name),
                              cast(Tensor::scalar(value), emitter.type(input(node, 0)).dtype));
}

// --- below opset 7, operand b was stretched only when asked to, from dimension `axis` on
void explicit_broadcast(ImportNode& node, Emitter& emitter) {
  const auto axis = take<int64_t>(node, "axis");
  drop(node, "broadcast");
  if (!axis) return;
  const int64_t rank = emitter.shape(input(node, 0)).rank();
  const ValueId b = input(node, 1);
  Ints dims = emitter.shape(b).vector();
  const int64_t from = normalize_axis(*axis, rank, node.op);
  TY_REQUIRE(from + static_cast<int64_t>(dims.size()) <= rank,
             "operand {} does not fit into rank {} from axis {} on", emitter.shape(b).to_string(),
             rank, from);
  if (from + static_cast<int64_t>(dims.size()) == rank) return;
  dims.resize(static_cast<size_t>(rank - from), 1);
  const ValueId shape = emitter.add_ints(node.name + ".shape", dims);
  set_input(node, 1, emitter.add_helper("Reshape", {b, shape}, {}, node.name + ".stretched"));
}

// One slope a channel, channels being dimension 1.
void prelu_slope(ImportNode& node, Emitter& emitter) {
  const int64_t rank = emitter.shape(input(node, 0)).rank();
  const ValueId slope = input(node, 1);
  if (emitter.shape(slope).rank() != 1 || rank < 3) return;
  Ints dims(static_cast<size_t>(rank - 1), 1);
  dims[0] = emitter.shape(slope)[0];
  const ValueId shape = emitter.add_ints(node.name + ".shape", dims);
  set_input(node, 1, emitter.add_helper("Reshape", {slope, shape}, {}, node.name + ".slope"));
}

void drop_broadcast(ImportNode& node, Emitter&) {
  drop(node, "broadcast");
}

void reshape_target(ImportNode& node, Emitter& emitter) {
  ints_to_input(node, emitter, "shape", 1);
}

void default_axis(ImportNode& node, Emitter&) {
  node.attributes.try_emplace("axis", int64_t{1});
}

// --- statistics came out of training before opset 14, and were per element with spatial = 0
void batch_normalization(ImportNode& node, Emitter&) {
  TY_REQUIRE(take<int64_t>(node, "spatial").value_or(1) == 1,
             "statistics per element (spatial = 0) are not supported");
  drop(node, "is_test");
  const bool training = std::any_of(
      node.outputs.begin() + std::min<ptrdiff_t>(1, static_cast<ptrdiff_t>(node.outputs.size())),
      node.outputs.end(), [](const auto& o) { return !o.empty(); });
  for (size_t i = 3; i < node.outputs.size(); ++i) {
    TY_REQUIRE(node.outputs[i].empty(), "output {} (saved statistics) is not supported", i);
  }
  if (node.outputs.size() > 3) node.outputs.resize(3);
  if (training) node.attributes["training_mode"] = int64_t{1};
}

void clip_bounds(ImportNode& node, Emitter& emitter) {
  const auto low = take<float>(node, "min");
  const auto high = take<float>(node, "max");
  if (low) set_input(node, 1, scalar_like(node, emitter, "min", *low));
  if (high) set_input(node, 2, scalar_like(node, emitter, "max", *high));
}

void dropout_ratio(ImportNode& node, Emitter& emitter) {
  drop(node, "is_test");
  if (const auto ratio = take<float>(node, "ratio")) {
    set_input(node, 1, emitter.add_constant(node.name + ".ratio", Tensor::scalar(*ratio)));
  }
}

void slice_ranges(ImportNode& node, Emitter& emitter) {
  ints_to_input(node, emitter, "starts", 1);
  ints_to_input(node, emitter, "ends", 2);
  ints_to_input(node, emitter, "axes", 3);
}

void axes_input(ImportNode& node, Emitter& emitter) {
  ints_to_input(node, emitter, "axes", 1);
}

void split_sizes(ImportNode& node, Emitter& emitter) {
  ints_to_input(node, emitter, "split", 1);
}

void pad_amounts(ImportNode& node, Emitter& emitter) {
  ints_to_input(node, emitter, "paddings", 1);
  ints_to_input(node, emitter, "pads", 1);
  if (const auto value = take<float>(node, "value")) {
    set_input(node, 2, scalar_like(node, emitter, "value", *value));
  }
}

void topk_count(ImportNode& node, Emitter& emitter) {
  if (const auto k = take<int64_t>(node, "k")) {
    set_input(node, 1, emitter.add_ints(node.name + ".k", {*k}));
  }
}

// Below opset 13 these worked on a matrix: the dimensions from `axis` on together.
void softmax_matrix(ImportNode& node, Emitter& emitter) {
  const Shape shape = emitter.shape(input(node, 0));
  const int64_t axis =
      normalize_axis(take<int64_t>(node, "axis").value_or(1), shape.rank(), node.op);
  if (axis == shape.rank() - 1) {
    node.attributes["axis"] = axis;
    return;
  }
  TY_REQUIRE(shape.is_static(), "over several dimensions of the unknown shape {}",
             shape.to_string());
  const ValueId matrix =
      emitter.add_helper("Flatten", {node.inputs[0]}, {{"axis", axis}}, node.name + ".matrix");
  const ValueId result =
      emitter.add_helper(node.op, {matrix}, {{"axis", int64_t{1}}}, node.name + ".rows");
  node.op = "Reshape";
  node.inputs = {result, emitter.add_ints(node.name + ".shape", shape.vector())};
}

void rename_scatter(ImportNode& node, Emitter&) {
  node.op = "ScatterElements";
}

void nearest_floor(ImportNode& node) {
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  if (take<std::string>(node, "mode").value_or("nearest") == "nearest") {
    node.attributes["mode"] = std::string("nearest");
    node.attributes["nearest_mode"] = std::string("floor");
  } else {
    node.attributes["mode"] = std::string("linear");
  }
}

void upsample(ImportNode& node, Emitter& emitter) {
  node.op = "Resize";
  nearest_floor(node);
  const auto height = take<float>(node, "height_scale");
  const auto width = take<float>(node, "width_scale");
  auto scales = take<Floats>(node, "scales");
  if (!scales && height && width) scales = Floats{1.0F, 1.0F, *height, *width};
  ValueId factor = node.inputs.size() > 1 ? node.inputs[1] : kNoValue;
  if (scales) {
    const Shape shape{static_cast<int64_t>(scales->size())};
    factor = emitter.add_constant(node.name + ".scales", Tensor::of<float>(shape, *scales));
  }
  node.inputs = {input(node, 0), kNoValue, factor};
}

void resize_scales(ImportNode& node, Emitter&) {
  nearest_floor(node);
  node.inputs = {input(node, 0), kNoValue, input(node, 1)};
}

// Empty tensors stood for "not given" before absent inputs did.
void resize_absent(ImportNode& node, Emitter& emitter) {
  for (size_t i = 1; i < node.inputs.size() && i < 3; ++i) {
    if (node.inputs[i].valid() && emitter.shape(node.inputs[i]) == Shape{0}) {
      node.inputs[i] = kNoValue;
    }
  }
}

struct Adapter {
  std::string_view op;
  int64_t below;  // applies to versions before this opset
  void (*rewrite)(ImportNode&, Emitter&);
};

// In the order in which they apply.
constexpr Adapter kAdapters[] = {
    {"Concat", 4, default_axis},        {"Reshape", 5, reshape_target},
    {"Add", 7, explicit_broadcast},     {"And", 7, explicit_broadcast},
    {"Div", 7, explicit_broadcast},     {"Equal", 7, explicit_broadcast},
    {"Greater", 7, explicit_broadcast}, {"Less", 7, explicit_broadcast},
    {"Mul", 7, explicit_broadcast},     {"Or", 7, explicit_broadcast},
    {"Pow", 7, explicit_broadcast},     {"Sub", 7, explicit_broadcast},
    {"Xor", 7, explicit_broadcast},     {"PRelu", 7, prelu_slope},
    {"Gemm", 7, drop_broadcast},        {"TopK", 10, topk_count},
    {"Slice", 10, slice_ranges},        {"Clip", 11, clip_bounds},
    {"Pad", 11, pad_amounts},           {"Resize", 11, resize_scales},
    {"Resize", 18, resize_absent},      {"Upsample", 18, upsample},
    {"Scatter", 18, rename_scatter},    {"Dropout", 12, dropout_ratio},
    {"LogSoftmax", 13, softmax_matrix}, {"Hardmax", 13, softmax_matrix},
    {"Softmax", 13, softmax_matrix},    {"ReduceSum", 13, axes_input},
    {"Split", 13, split_sizes},         {"Squeeze", 13, axes_input},
    {"Unsqueeze", 13, axes_input},      {"BatchNormalization", 14, batch_normalization},
};

}  // namespace

void adapt_node(ImportNode& node, Emitter& emitter) {
  if (node.opset < 6) drop(node, "consumed_inputs");
  const std::string op = node.op;
  for (const Adapter& adapter : kAdapters) {
    if (adapter.op == op && node.opset < adapter.below) adapter.rewrite(node, emitter);
  }
}

std::string_view adapted_op(std::string_view op) {
  if (op == "Upsample") return "Resize";
  if (op == "Scatter") return "ScatterElements";
  return op;
}

}  // namespace trainyard::onnx_io
