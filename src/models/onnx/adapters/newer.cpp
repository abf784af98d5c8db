// Operators of opsets above 17 in the form of opset 17, where it can say the same.
#include <algorithm>

#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

// Axes became an input; an attribute is what passes and gradients look for.
void reduce_axes(ImportNode& node, Emitter& emitter) {
  const ValueId axes = optional_input(node, 1);
  if (!axes.valid()) return;
  const auto& known = emitter.graph().value(axes).constant;
  if (known == nullptr) return;
  Ints list = to_ints(*known);
  node.inputs.resize(1);
  if (!list.empty()) node.attributes["axes"] = std::move(list);
}

// Equal pieces, of which the last may be smaller.
void split_count(ImportNode& node, Emitter& emitter) {
  const auto count = take<int64_t>(node, "num_outputs");
  if (!count || optional_input(node, 1).valid()) return;
  TY_REQUIRE(*count >= 1 && static_cast<size_t>(*count) == node.outputs.size(),
             "num_outputs is {}, it has {} outputs", *count, node.outputs.size());
  const Shape& x = emitter.shape(input(node, 0));
  int64_t axis = 0;
  if (const auto given = node.attributes.find("axis"); given != node.attributes.end()) {
    const auto* number = std::get_if<int64_t>(&given->second);
    TY_REQUIRE(number != nullptr, "attribute 'axis' is {}, expected {}",
               attr_kind_name(attr_kind(given->second)), attr_kind_name(AttrKind::kInt));
    axis = *number;
  }
  const int64_t at = normalize_axis(axis, x.rank(), "Split");
  const int64_t size = x[at];
  TY_REQUIRE(size != Shape::kUnknown, "dimension {} of {} is cut into pieces but not known", at,
             x.to_string());
  if (size % *count == 0) return;
  const int64_t piece = (size + *count - 1) / *count;
  Ints sizes;
  for (int64_t left = size; sizes.size() < node.outputs.size(); left -= piece) {
    sizes.push_back(std::clamp<int64_t>(left, 0, piece));
  }
  set_input(node, 1, emitter.add_ints(node.name + ".sizes", sizes));
}

// Names that say how many dimensions there are went.
void grid_modes(ImportNode& node, Emitter&) {
  const auto mode = node.attributes.find("mode");
  if (mode == node.attributes.end()) return;
  auto* text = std::get_if<std::string>(&mode->second);
  if (text == nullptr) return;
  if (*text == "linear") *text = "bilinear";
  if (*text == "cubic") *text = "bicubic";
}

// Scale and bias of one number per group, as opset 18 had them, or per channel.
void group_normalization(ImportNode& node, Emitter& emitter) {
  const auto groups = take<int64_t>(node, "num_groups");
  const float epsilon = take<float>(node, "epsilon").value_or(1e-5F);
  drop(node, "stash_type");
  const ValueId x = input(node, 0);
  const Shape shape = emitter.shape(x);
  TY_REQUIRE(shape.rank() >= 2 && shape.is_static(), "input has shape {}, expected N x C x spatial",
             shape.to_string());
  TY_REQUIRE(groups && *groups > 0 && shape[1] % *groups == 0,
             "{} channels cannot be cut into {} groups", shape[1], groups.value_or(0));
  const auto reshape = [&](ValueId value, const Ints& dims, const std::string& name) {
    const ValueId to = emitter.add_ints(node.name + "." + name + ".shape", dims);
    return emitter.add_helper("Reshape", {value, to}, {}, node.name + "." + name);
  };
  const DType dtype = emitter.type(x).dtype;
  const auto filled = [&](double value, const char* name) {
    Tensor ones(DType::kF32, Shape{*groups});
    for (float& element : ones.values<float>()) element = static_cast<float>(value);
    return emitter.add_constant(node.name + "." + name, cast(ones, dtype));
  };
  const ValueId rows =
      reshape(x, {shape[0], *groups, shape.num_elements(1, shape.rank()) / *groups}, "groups");
  const ValueId normal =
      emitter.add_helper("InstanceNormalization", {rows, filled(1, "ones"), filled(0, "zeros")},
                         {{"epsilon", epsilon}}, node.name + ".normal");
  Ints per_channel(static_cast<size_t>(shape.rank()), 1);
  per_channel[1] = shape[1];
  const auto spread = [&](ValueId value, const std::string& name) {
    if (emitter.shape(value) == Shape{*groups} && *groups != shape[1]) {
      value = reshape(value, {*groups, 1}, name + ".column");
      const ValueId to =
          emitter.add_ints(node.name + "." + name + ".to", {*groups, shape[1] / *groups});
      value = emitter.add_helper("Expand", {value, to}, {}, node.name + "." + name + ".spread");
    }
    return reshape(value, per_channel, name);
  };
  const ValueId scaled = emitter.add_helper(
      "Mul", {reshape(normal, shape.vector(), "whole"), spread(input(node, 1), "scale")}, {},
      node.name + ".scaled");
  node.op = "Add";
  node.inputs = {scaled, spread(input(node, 2), "bias")};
}

constexpr Adapter kNewerAdapters[] = {
    {"", "GridSample", 20, kAnyOpset, grid_modes},
    {"", "GroupNormalization", 18, kAnyOpset, group_normalization},
    {"", "ReduceL1", 18, kAnyOpset, reduce_axes},
    {"", "ReduceL2", 18, kAnyOpset, reduce_axes},
    {"", "ReduceLogSum", 18, kAnyOpset, reduce_axes},
    {"", "ReduceLogSumExp", 18, kAnyOpset, reduce_axes},
    {"", "ReduceMax", 18, kAnyOpset, reduce_axes},
    {"", "ReduceMean", 18, kAnyOpset, reduce_axes},
    {"", "ReduceMin", 18, kAnyOpset, reduce_axes},
    {"", "ReduceProd", 18, kAnyOpset, reduce_axes},
    {"", "ReduceSumSquare", 18, kAnyOpset, reduce_axes},
    {"", "Split", 18, kAnyOpset, split_count},
};

}  // namespace

std::span<const Adapter> newer_adapters() {
  return kNewerAdapters;
}

}  // namespace trainyard::onnx_io
