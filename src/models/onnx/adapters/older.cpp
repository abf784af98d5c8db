// Operators of older opsets in their form of opset 17.

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

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

// In the order in which they apply.
constexpr Adapter kOlderAdapters[] = {
    {"", "Concat", 1, 4, default_axis},
    {"", "Reshape", 1, 5, reshape_target},
    {"", "Add", 1, 7, explicit_broadcast},
    {"", "And", 1, 7, explicit_broadcast},
    {"", "Div", 1, 7, explicit_broadcast},
    {"", "Equal", 1, 7, explicit_broadcast},
    {"", "Greater", 1, 7, explicit_broadcast},
    {"", "Less", 1, 7, explicit_broadcast},
    {"", "Mul", 1, 7, explicit_broadcast},
    {"", "Or", 1, 7, explicit_broadcast},
    {"", "Pow", 1, 7, explicit_broadcast},
    {"", "Sub", 1, 7, explicit_broadcast},
    {"", "Xor", 1, 7, explicit_broadcast},
    {"", "PRelu", 1, 7, prelu_slope},
    {"", "Gemm", 1, 7, drop_broadcast},
    {"", "TopK", 1, 10, topk_count},
    {"", "Slice", 1, 10, slice_ranges},
    {"", "Clip", 1, 11, clip_bounds},
    {"", "Pad", 1, 11, pad_amounts},
    {"", "Resize", 1, 11, resize_scales},
    {"", "Resize", 1, 18, resize_absent},
    {"", "Upsample", 1, 99, upsample},
    {"", "Scatter", 1, 99, rename_scatter},
    {"", "Dropout", 1, 12, dropout_ratio},
    {"", "LogSoftmax", 1, 13, softmax_matrix},
    {"", "Hardmax", 1, 13, softmax_matrix},
    {"", "Softmax", 1, 13, softmax_matrix},
    {"", "ReduceSum", 1, 13, axes_input},
    {"", "Split", 1, 13, split_sizes},
    {"", "Squeeze", 1, 13, axes_input},
    {"", "Unsqueeze", 1, 13, axes_input},
    {"", "BatchNormalization", 1, 14, batch_normalization},
};

}  // namespace

std::span<const Adapter> older_adapters() {
  return kOlderAdapters;
}

}  // namespace trainyard::onnx_io
