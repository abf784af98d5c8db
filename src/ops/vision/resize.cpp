// Resize: samples a tensor on another grid, by nearest neighbor, linear or cubic interpolation.
#include "ops/vision/resize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kResizeAttributes[] = {{"antialias", AttrKind::kInt},
                                          {"axes", AttrKind::kInts},
                                          {"coordinate_transformation_mode", AttrKind::kText},
                                          {"cubic_coeff_a", AttrKind::kFloat},
                                          {"exclude_outside", AttrKind::kInt},
                                          {"extrapolation_value", AttrKind::kFloat},
                                          {"keep_aspect_ratio_policy", AttrKind::kText},
                                          {"mode", AttrKind::kText},
                                          {"nearest_mode", AttrKind::kText}};
constexpr size_t kRegion = 1;
constexpr size_t kScales = 2;
constexpr size_t kSizes = 3;
constexpr size_t kGradient = 4;  // of ResizeGrad

void require_one_of(const NodeView& node, std::string_view name, std::string_view fallback,
                    std::initializer_list<std::string_view> choices) {
  const std::string value = node.attr_text(name, fallback);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::string list;
  for (const std::string_view choice : choices) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", choice);
  }
  throw_error("{} '{}' is not one of {}", name, value, list);
}

// An input that is there but empty counts as absent.
bool is_given(const NodeView& node, size_t input) {
  return node.has_input(input) && node.input_shape(input).num_elements() != 0;
}

bool crops(const NodeView& node) {
  return node.attr_text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

// The dimensions that scales, sizes and roi speak of.
std::vector<int64_t> resized_axes(const NodeView& node) {
  const int64_t rank = node.input_shape(0).rank();
  std::vector<int64_t> axes = node.attr_ints("axes", {});
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank, node.op());
  for (int64_t i = 0; i < rank && !node.has_attr("axes"); ++i) axes.push_back(i);
  return axes;
}

ResizeSizes unchanged(const Shape& x) {
  ResizeSizes result{x, {}, {}};
  for (const int64_t d : x.dims()) {
    result.scales.push_back(1.0);
    result.lengths.push_back(static_cast<double>(d));
  }
  return result;
}

// One scale for all axes, so that nothing is larger, or smaller, than `sizes`.
double kept_ratio(const Shape& x, const std::vector<int64_t>& axes,
                  const std::vector<int64_t>& sizes, bool not_larger) {
  double ratio = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(x[axes[i]]);
    ratio = i == 0 ? own : (not_larger ? std::min(ratio, own) : std::max(ratio, own));
  }
  return ratio;
}

ResizeSizes by_sizes(const Shape& x, const std::vector<int64_t>& axes,
                     const std::vector<int64_t>& sizes, const std::string& policy) {
  ResizeSizes result = unchanged(x);
  const double ratio = kept_ratio(x, axes, sizes, policy == "not_larger");
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    int64_t size = sizes[i];
    TY_REQUIRE(size >= 0, "sizes hold {}", size);
    double scale = static_cast<double>(size) / static_cast<double>(x[axes[i]]);
    if (policy != "stretch") {
      scale = ratio;
      size = static_cast<int64_t>(std::floor(ratio * static_cast<double>(x[axes[i]]) + 0.5));
    }
    result.output[axes[i]] = size;
    result.scales[d] = scale;
    result.lengths[d] = static_cast<double>(size);
  }
  return result;
}

// `region` is null or holds a begin for each axis, then an end for each.
ResizeSizes by_scales(const Shape& x, const std::vector<int64_t>& axes, const Tensor& scales,
                      const Tensor* region) {
  ResizeSizes result = unchanged(x);
  const auto count = static_cast<int64_t>(axes.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = axes[static_cast<size_t>(i)];
    const double scale = element_as_double(scales, i);
    TY_REQUIRE(scale > 0 && std::isfinite(scale), "scales hold {}, expected positive numbers",
               scale);
    double length = static_cast<double>(x[axis]) * scale;
    if (region != nullptr) {
      length *= element_as_double(*region, count + i) - element_as_double(*region, i);
    }
    // Rounded in f32, where 10 x 0.7 is 7 as everybody expects.
    constexpr double kLargest = 1e15;
    const double rounded = std::floor(double{static_cast<float>(length)});
    TY_REQUIRE(rounded >= 0 && rounded < kLargest, "dimension {} of {} would be resized to {}",
               axis, x.to_string(), length);
    result.output[axis] = static_cast<int64_t>(rounded);
    result.scales[static_cast<size_t>(axis)] = scale;
    result.lengths[static_cast<size_t>(axis)] = length;
  }
  return result;
}

void require_count_resize(const NodeView& node, size_t input, std::string_view what,
                          int64_t count) {
  TY_REQUIRE(!is_given(node, input) || node.input_shape(input) == Shape{count},
             "{} have shape {}, expected {} numbers for input of shape {}", what,
             node.input_shape(input).to_string(), count, node.input_shape(0).to_string());
}

// What Resize and ResizeGrad ask of attributes, scales, sizes and roi.
void require_resize(const NodeView& node) {
  require_one_of(node, "mode", "nearest", {"nearest", "linear", "cubic"});
  require_one_of(node, "nearest_mode", "round_prefer_floor",
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  require_one_of(node, "coordinate_transformation_mode", "half_pixel",
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                  "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  require_one_of(node, "keep_aspect_ratio_policy", "stretch",
                 {"stretch", "not_larger", "not_smaller"});
  const auto axes = static_cast<int64_t>(resized_axes(node).size());
  TY_REQUIRE(is_given(node, kScales) != is_given(node, kSizes),
             "it takes either scales or sizes, found {}",
             is_given(node, kScales) ? "both" : "neither");
  require_count_resize(node, kScales, "scales", axes);
  require_count_resize(node, kSizes, "sizes", axes);
  if (crops(node)) {
    TY_REQUIRE(is_given(node, kRegion), "tf_crop_and_resize needs the input roi");
    require_count_resize(node, kRegion, "roi", 2 * axes);
    TY_REQUIRE(node.attr_int("antialias", 0) == 0, "tf_crop_and_resize with antialias");
  }
}

std::vector<TensorType> infer_resize(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  require_resize(node);
  if (const auto sizes = resize_sizes(node)) {
    TY_REQUIRE(x.shape.num_elements() != 0 || sizes->output.num_elements() == 0,
               "an empty input of shape {} would be resized to {}", x.shape.to_string(),
               sizes->output.to_string());
    return {{x.dtype, sizes->output}};
  }
  const std::vector<int64_t> unknown(static_cast<size_t>(x.shape.rank()), Shape::kUnknown);
  return {{x.dtype, Shape(unknown)}};
}

// Per output element: one MAC for each neighbor it is made of in the resized dimensions; nearest
// is a copy.
Cost cost_resize(const NodeView& node) {
  const std::string mode = node.attr_text("mode", "nearest");
  Cost cost = traffic(node);
  if (mode == "nearest") return cost;
  int64_t neighbors = 1;
  for (int64_t i = 0; i < node.input_shape(0).rank(); ++i) {
    if (node.input_shape(0)[i] != node.output_shape(0)[i]) neighbors *= mode == "linear" ? 2 : 4;
  }
  cost.macs = node.output_shape(0).num_elements() * neighbors;
  cost.flops = 2 * cost.macs;
  return cost;
}

// ResizeGrad: dx from dy (input 4), the other inputs and the attributes as Resize's; of x only the
// shape counts.
std::vector<TensorType> infer_grad_resize(const NodeView& node) {
  require_resize(node);
  const auto sizes = resize_sizes(node);
  TY_REQUIRE(sizes.has_value(), "the sizes are not known before the run");
  TY_REQUIRE(node.has_input(kGradient) && node.input_shape(kGradient) == sizes->output,
             "dy has another shape than {}", sizes->output.to_string());
  return {node.input_type(0)};
}

Cost cost_grad_resize(const NodeView& node) {
  const int64_t read = node.input_type(kGradient).num_bytes();
  return {.bytes_read = read, .bytes_written = node.output_type(0).num_bytes()};
}

std::vector<ValueId> gradient_resize(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.x(0)};
  for (size_t i = 1; i < kGradient; ++i) {
    inputs.push_back(grad.node().has_input(i) ? grad.x(i) : kNoValue);
  }
  inputs.push_back(grad.dy());
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  dx[0] = grad.add("ResizeGrad", std::move(inputs), grad.attributes());
  return dx;
}

Movement movement_resize(const NodeView& node) {
  return node.attr_text("mode", "nearest") == "nearest" ? Movement::kMoved : Movement::kComputed;
}

Reaches reach_resize(const NodeView& node, size_t dims) {
  const std::string grid = node.attr_text("coordinate_transformation_mode", "half_pixel");
  const std::string mode = node.attr_text("mode", "nearest");
  const auto sizes = resize_sizes(node);
  if (!sizes || grid == "tf_crop_and_resize" || sizes->scales.size() < dims) return std::nullopt;
  // Interpolation takes two or four neighbors in each dimension.
  const double between = mode == "nearest" ? 0 : mode == "linear" ? 1 : 3;
  const bool first_on_first =
      mode != "nearest" && (grid == "asymmetric" || grid == "align_corners");
  std::vector<InputWindow> reaches;
  for (size_t i = sizes->scales.size() - dims; i < sizes->scales.size(); ++i) {
    const double middle = first_on_first ? 0 : 0.5 / sizes->scales[i] - 0.5;
    reaches.push_back({middle - between / 2, middle + between / 2, 1 / sizes->scales[i]});
  }
  return reaches;
}

}  // namespace

std::vector<int64_t> resize_axes(const NodeView& node) {
  return resized_axes(node);
}

std::optional<ResizeSizes> resize_sizes(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (!x.is_static()) return std::nullopt;
  if (is_given(node, kSizes)) {
    const auto sizes = node.input_ints(kSizes);
    if (!sizes) return std::nullopt;
    return by_sizes(x, resized_axes(node), *sizes,
                    node.attr_text("keep_aspect_ratio_policy", "stretch"));
  }
  const Tensor* scales = node.input_constant(kScales);
  const Tensor* region = crops(node) ? node.input_constant(kRegion) : nullptr;
  if (scales == nullptr || (crops(node) && region == nullptr)) return std::nullopt;
  return by_scales(x, resized_axes(node), *scales, region);
}

extern const OpDef kResizeGrad = {.name = "ResizeGrad",
                                  .kind = OpKind::kDataMovement,
                                  .inputs = {1, 5},
                                  .attributes = kResizeAttributes,
                                  .infer = infer_grad_resize,
                                  .cost = cost_grad_resize};
extern const OpDef kResize = {.name = "Resize",
                              .kind = OpKind::kDataMovement,
                              .inputs = {1, 4},
                              .attributes = kResizeAttributes,
                              .infer = infer_resize,
                              .cost = cost_resize,
                              .reach = reach_resize,
                              .gradient = gradient_resize,
                              .movement = movement_resize,
                              .int8 = Int8Form::kMove};

}  // namespace trainyard::ops
