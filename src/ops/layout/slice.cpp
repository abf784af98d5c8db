// Slice: every step-th element of a range in each chosen dimension; steps may be negative.
#include "ops/layout/slice.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {

SliceRanges slice_ranges(const Shape& x, const std::vector<int64_t>& starts,
                         const std::vector<int64_t>& ends, const std::vector<int64_t>& axes,
                         const std::vector<int64_t>& steps) {
  TY_REQUIRE(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      "{} starts, {} ends, {} axes and {} steps do not belong together", starts.size(), ends.size(),
      axes.size(), steps.size());
  SliceRanges ranges;
  ranges.starts.assign(static_cast<size_t>(x.rank()), 0);
  ranges.steps.assign(static_cast<size_t>(x.rank()), 1);
  ranges.counts = x.vector();
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = normalize_axis(axes[i], x.rank(), "Slice");
    const int64_t size = x[axis];
    const int64_t step = steps[i];
    // A step beyond the dimension is as good as one just as long; this also keeps the sums below
    // small.
    TY_REQUIRE(step != 0, "a step of 0 goes nowhere");
    const int64_t bounded = std::clamp(step, -size - 1, size + 1);
    const int64_t low = bounded > 0 ? 0 : -1;
    const int64_t high = bounded > 0 ? size : size - 1;
    const auto place = [&](int64_t at, int64_t least) {
      return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, least, high);
    };
    const int64_t start = place(starts[i], bounded > 0 ? 0 : std::min<int64_t>(0, high));
    const int64_t end = place(ends[i], low);
    const int64_t span = bounded > 0 ? end - start : start - end;
    const int64_t stride = std::abs(bounded);
    const auto at = static_cast<size_t>(axis);
    ranges.starts[at] = start;
    ranges.steps[at] = bounded;
    ranges.counts[at] = span <= 0 ? 0 : (span + stride - 1) / stride;
  }
  return ranges;
}

std::optional<SliceRanges> slice_ranges(const NodeView& node, const Shape& x) {
  const auto starts = node.input_ints(1);
  const auto ends = node.input_ints(2);
  if (!starts || !ends || (node.has_input(3) && !node.input_ints(3)) ||
      (node.has_input(4) && !node.input_ints(4))) {
    return std::nullopt;
  }
  std::vector<int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = node.input_ints(3)) axes = *given;
  std::vector<int64_t> steps(starts->size(), 1);
  if (const auto given = node.input_ints(4)) steps = *given;
  return slice_ranges(x, *starts, *ends, axes, steps);
}

namespace {

std::vector<TensorType> infer_slice(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const int64_t most = node.input_shape(1).num_elements();
  TY_REQUIRE(most <= x.shape.rank(), "{} ranges for input of shape {}", most, x.shape.to_string());
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    TY_REQUIRE(
        same_dim(node.input_shape(i).num_elements(), most) && is_integer(node.input_type(i).dtype),
        "input {} is {}, expected {} integers as there are starts", i,
        node.input_type(i).to_string(), most);
  }
  const auto ranges = x.shape.is_static() ? slice_ranges(node, x.shape) : std::nullopt;
  if (ranges) return {{x.dtype, Shape(ranges->counts)}};
  // A scalar has no dimension that could be unknown, and none to cut.
  TY_REQUIRE(x.shape.rank() > 0, "a scalar cannot be sliced");
  return {{x.dtype, unknown_shape(x.shape.rank())}};
}

Routine routine_slice(const NodeView& node) {
  return [ranges = *slice_ranges(node, node.input_shape(0))](Views inputs, Views outputs) {
    const TensorView& x = inputs[0];
    const TensorView& y = outputs[0];
    if (y.num_elements() == 0) return;
    std::vector<int64_t> strides = x.shape->strides();
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      offset += ranges.starts[i] * strides[i];
      strides[i] *= ranges.steps[i];
    }
    const int64_t size = dtype_size(x.dtype);
    copy_strided(y.shape->dims(), size, x.as<const std::byte>() + offset * size, strides, y.data,
                 y.shape->strides());
  };
}

Cost cost_slice(const NodeView& node) {
  const int64_t bytes = node.output_type(0).num_bytes();
  return {.bytes_read = bytes, .bytes_written = bytes};
}

std::vector<ValueId> gradient_slice(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.dy()};
  for (size_t i = 1; i < grad.node().num_inputs(); ++i) inputs.push_back(grad.x(i));
  std::vector<ValueId> dx(inputs.size(), kNoValue);
  dx[0] = grad.add("SliceGrad", std::move(inputs), {{"input_shape", grad.x_shape(0).vector()}});
  return dx;
}

// Backward slices turn the order of positions around.
Reaches reach_slice(const NodeView& node, size_t dims) {
  const auto ranges = slice_ranges(node, node.input_shape(0));
  if (!ranges || ranges->starts.size() < dims) return std::nullopt;
  std::vector<InputWindow> reaches;
  for (size_t axis = ranges->starts.size() - dims; axis < ranges->starts.size(); ++axis) {
    if (ranges->steps[axis] < 0) return std::nullopt;
    const auto start = static_cast<double>(ranges->starts[axis]);
    reaches.push_back({start, start, static_cast<double>(ranges->steps[axis])});
  }
  return reaches;
}

}  // namespace

// Inputs: data, starts, ends, axes, steps.
extern const OpDef kSlice = {.name = "Slice",
                             .kind = OpKind::kDataMovement,
                             .inputs = {3, 5},
                             .infer = infer_slice,
                             .cost = cost_slice,
                             .routine = routine_slice,
                             .reach = reach_slice,
                             .gradient = gradient_slice,
                             .saves = SavedTensors::kNothing,
                             .movement = always_moved,
                             .int8 = Int8Form::kMove};

}  // namespace trainyard::ops
