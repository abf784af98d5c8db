// Resize: samples a tensor on another grid, by nearest neighbour, linear or cubic interpolation.
#include "ops/vision/resize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kResizeAttributes[] = {{"coordinate_transformation_mode", AttrKind::kText},
                                          {"cubic_coeff_a", AttrKind::kFloat},
                                          {"exclude_outside", AttrKind::kInt},
                                          {"extrapolation_value", AttrKind::kFloat},
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

ResizeSizes by_sizes(const Shape& x, const std::vector<int64_t>& sizes) {
  ResizeSizes result{Shape(sizes), {}, {}};
  for (int64_t i = 0; i < x.rank(); ++i) {
    TY_REQUIRE(result.output[i] >= 0, "sizes hold {}", result.output[i]);
    result.scales.push_back(static_cast<double>(result.output[i]) / static_cast<double>(x[i]));
    result.lengths.push_back(static_cast<double>(result.output[i]));
  }
  return result;
}

// `region` is null or holds a begin for each dimension, then an end for each.
ResizeSizes by_scales(const Shape& x, const Tensor& scales, const Tensor* region) {
  ResizeSizes result{x, {}, {}};
  for (int64_t i = 0; i < x.rank(); ++i) {
    const double scale = element_as_double(scales, i);
    TY_REQUIRE(scale > 0 && std::isfinite(scale), "scales hold {}, expected positive numbers",
               scale);
    double length = static_cast<double>(x[i]) * scale;
    if (region != nullptr) {
      length *= element_as_double(*region, x.rank() + i) - element_as_double(*region, i);
    }
    // Rounded in f32, where 10 x 0.7 is 7 as everybody expects.
    constexpr double kLargest = 1e15;
    const double rounded = std::floor(double{static_cast<float>(length)});
    TY_REQUIRE(rounded >= 0 && rounded < kLargest, "dimension {} of {} would be resized to {}", i,
               x.to_string(), length);
    result.output[i] = static_cast<int64_t>(rounded);
    result.scales.push_back(scale);
    result.lengths.push_back(length);
  }
  return result;
}

void require_count_resize(const NodeView& node, size_t input, std::string_view what,
                          int64_t count) {
  TY_REQUIRE(!is_given(node, input) || node.input_shape(input) == Shape{count},
             "{} have shape {}, expected {} numbers for input of shape {}", what,
             node.input_shape(input).to_string(), count, node.input_shape(0).to_string());
}

std::vector<TensorType> infer_resize(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  require_one_of(node, "mode", "nearest", {"nearest", "linear", "cubic"});
  require_one_of(node, "nearest_mode", "round_prefer_floor",
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  require_one_of(node, "coordinate_transformation_mode", "half_pixel",
                 {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                  "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  TY_REQUIRE(is_given(node, kScales) != is_given(node, kSizes),
             "it takes either scales or sizes, found {}",
             is_given(node, kScales) ? "both" : "neither");
  require_count_resize(node, kScales, "scales", x.shape.rank());
  require_count_resize(node, kSizes, "sizes", x.shape.rank());
  if (crops(node)) {
    TY_REQUIRE(is_given(node, kRegion), "tf_crop_and_resize needs the input roi");
    require_count_resize(node, kRegion, "roi", 2 * x.shape.rank());
  }
  if (const auto sizes = resize_sizes(node)) return {{x.dtype, sizes->output}};
  const std::vector<int64_t> unknown(static_cast<size_t>(x.shape.rank()), Shape::kUnknown);
  return {{x.dtype, Shape(unknown)}};
}

// Per output element: one MAC for each neighbour it is made of in the resized dimensions; nearest
// is a copy.
Cost cost_resize(const NodeView& node) {
  const std::string mode = node.attr_text("mode", "nearest");
  Cost cost = traffic(node);
  if (mode == "nearest") return cost;
  int64_t neighbours = 1;
  for (int64_t i = 0; i < node.input_shape(0).rank(); ++i) {
    if (node.input_shape(0)[i] != node.output_shape(0)[i]) neighbours *= mode == "linear" ? 2 : 4;
  }
  cost.macs = node.output_shape(0).num_elements() * neighbours;
  cost.flops = 2 * cost.macs;
  return cost;
}

// ResizeGrad: dx from dy (input 4), the other inputs and the attributes as Resize's; of x only the
// shape counts.
std::vector<TensorType> infer_grad_resize(const NodeView& node) {
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

}  // namespace

std::optional<ResizeSizes> resize_sizes(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (!x.is_static()) return std::nullopt;
  if (is_given(node, kSizes)) {
    const auto sizes = node.input_ints(kSizes);
    if (!sizes) return std::nullopt;
    return by_sizes(x, *sizes);
  }
  const Tensor* scales = node.input_constant(kScales);
  const Tensor* region = crops(node) ? node.input_constant(kRegion) : nullptr;
  if (scales == nullptr || (crops(node) && region == nullptr)) return std::nullopt;
  return by_scales(x, *scales, region);
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
                              .gradient = gradient_resize};

}  // namespace trainyard::ops
