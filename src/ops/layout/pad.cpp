// Pad: a border of constants, of reflected or of repeated elements around the input; negative pads
// crop.
#include "ops/layout/pad.h"

#include <algorithm>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kPadAttributes[] = {{"mode", AttrKind::kText}};

}  // namespace

std::vector<int64_t> pads_of_all_axes(const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>& axes, int64_t rank) {
  TY_REQUIRE(pads.size() == 2 * axes.size(), "{} pads for {} axes, expected two for each",
             pads.size(), axes.size());
  std::vector<int64_t> all(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], rank, "Pad"));
    all[axis] = pads[i];
    all[axis + static_cast<size_t>(rank)] = pads[axes.size() + i];
  }
  return all;
}

int64_t padded_source(int64_t at, int64_t size, std::string_view mode) {
  if (0 <= at && at < size) return at;
  if (mode == "constant" || size == 0) return -1;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return (at % size + size) % size;
  // Reflection about the first and the last element, as often as it takes.
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t folded = (at % period + period) % period;
  return folded < size ? folded : period - folded;
}

namespace {

std::vector<TensorType> infer_pad(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const std::string mode = node.attr_text("mode", "constant");
  TY_REQUIRE(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
             "mode '{}' is not one of constant, reflect, edge, wrap", mode);
  require_alike(node, {2});
  require_one_number(node, 2, "the constant");
  auto pads = node.input_ints(1);
  const auto axes = node.input_ints(3);
  if (node.has_input(3) && !axes) pads.reset();
  if (pads && axes) pads = pads_of_all_axes(*pads, *axes, x.shape.rank());
  TensorType y = x;
  for (int64_t i = 0; i < x.shape.rank(); ++i) {
    if (!pads) {
      y.shape[i] = Shape::kUnknown;
      continue;
    }
    TY_REQUIRE(static_cast<int64_t>(pads->size()) == 2 * x.shape.rank(),
               "{} pads for an input of rank {}, expected two per dimension", pads->size(),
               x.shape.rank());
    if (x.shape[i] == Shape::kUnknown) continue;
    const bool overflow =
        __builtin_add_overflow(x.shape[i], (*pads)[static_cast<size_t>(i)], &y.shape[i]) ||
        __builtin_add_overflow(y.shape[i], (*pads)[static_cast<size_t>(i + x.shape.rank())],
                               &y.shape[i]);
    TY_REQUIRE(!overflow && y.shape[i] >= 0, "dimension {} of shape {} cannot be padded like that",
               i, x.shape.to_string());
  }
  return {y};
}

// What was padded is cut off again. A border of copies would have to be added back to its
// originals.
std::vector<ValueId> gradient_pad(GradContext& grad) {
  TY_REQUIRE(grad.node().attr_text("mode", "constant") == "constant",
             "only constant padding has a gradient rule");
  const auto pads = grad.node().input_ints(1);
  TY_REQUIRE(!grad.node().has_input(3), "padding of chosen axes has no gradient rule");
  TY_REQUIRE(pads.has_value(), "the pads are not known before the run");
  const Shape x = grad.x_shape(0);
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> negated;
  for (const int64_t pad : *pads) negated.push_back(-pad);
  TY_CHECK(negated.size() == 2 * rank, "{} pads", negated.size());
  return {grad.add("Pad", {grad.dy(), grad.ints(negated)}), kNoValue, kNoValue};
}

Movement movement_pad(const NodeView& node) {
  const auto pads = node.input_ints(1);
  if (pads && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; })) {
    return Movement::kView;
  }
  if (node.attr_text("mode", "constant") != "constant") return Movement::kMoved;
  if (!node.has_input(2)) return Movement::kPadded;
  const Tensor* fill = node.input_constant(2);
  const bool zeros = fill != nullptr && element_as_double(*fill, 0) == 0;
  return zeros ? Movement::kPadded : Movement::kComputed;
}

Reaches reach_pad(const NodeView& node, size_t dims) {
  const int64_t rank = node.input_shape(0).rank();
  auto pads = node.input_ints(1);
  const auto axes = node.input_ints(3);
  if (!pads || (node.has_input(3) && !axes) || rank < static_cast<int64_t>(dims)) {
    return std::nullopt;
  }
  if (axes) pads = pads_of_all_axes(*pads, *axes, rank);
  std::vector<InputWindow> reaches;
  for (size_t axis = static_cast<size_t>(rank) - dims; axis < static_cast<size_t>(rank); ++axis) {
    const auto shift = static_cast<double>(-(*pads)[axis]);
    reaches.push_back({shift, shift, 1});
  }
  return reaches;
}

}  // namespace

// Inputs: data, pads (all begins, then all ends), constant_value, axes that the pads are for.
extern const OpDef kPad = {.name = "Pad",
                           .kind = OpKind::kDataMovement,
                           .inputs = {2, 4},
                           .attributes = kPadAttributes,
                           .infer = infer_pad,
                           .reach = reach_pad,
                           .gradient = gradient_pad,
                           .saves = SavedTensors::kNothing,
                           .movement = movement_pad,
                           .int8 = Int8Form::kMove};

}  // namespace trainyard::ops
