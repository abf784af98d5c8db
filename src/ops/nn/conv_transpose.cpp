// ConvTranspose: every input element spreads its weighted kernel over the output; the transpose of
// Conv as a linear map.
#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/nn/conv_bias.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kConvTransposeAttributes[] = {
    {"auto_pad", AttrKind::kText},       {"dilations", AttrKind::kInts},
    {"group", AttrKind::kInt},           {"kernel_shape", AttrKind::kInts},
    {"output_padding", AttrKind::kInts}, {"output_shape", AttrKind::kInts},
    {"pads", AttrKind::kInts},           {"strides", AttrKind::kInts}};
constexpr ParamRole kConvTransposeRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                             ParamRole::kBias};

std::vector<TensorType> infer_conv_transpose(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const TensorType& w = node.input_type(1);
  TY_REQUIRE(x.shape.rank() >= 3, "input has shape {}, expected N x C x spatial",
             x.shape.to_string());
  TY_REQUIRE(w.shape.rank() == x.shape.rank(), "weights of shape {} do not fit input of shape {}",
             w.shape.to_string(), x.shape.to_string());
  TY_REQUIRE(w.dtype == x.dtype, "weights are {} but the input is {}", dtype_name(w.dtype),
             dtype_name(x.dtype));
  const int64_t group = node.attr_int("group", 1);
  TY_REQUIRE(group >= 1 && w.shape[0] % group == 0,
             "{} input channels do not divide into {} groups", w.shape[0], group);
  TY_REQUIRE(x.shape[1] == Shape::kUnknown || x.shape[1] == w.shape[0],
             "input has {} channels, the weights expect {}", x.shape[1], w.shape[0]);
  require_alike(node, {2});
  const int64_t channels = dim_product(w.shape[1], group);
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_shape(2) == Shape{channels}, "bias has shape {}, expected {}",
               node.input_shape(2).to_string(), channels);
  }
  const Window window = resolve_transposed_window(node, x.shape, w.shape);
  return {{x.dtype, window_output_shape(x.shape[0], channels, window)}};
}

// One MAC per input element and weight it meets; a bias adds one FLOP per output element.
Cost cost_conv_transpose(const NodeView& node) {
  Cost cost = traffic(node);
  const Shape& w = node.input_shape(1);
  cost.macs = checked_product({node.input_shape(0).num_elements(), w.num_elements(1, w.rank())});
  cost.flops = 2 * cost.macs + (node.has_input(2) ? node.output_shape(0).num_elements() : 0);
  return cost;
}

// It is the gradient of a convolution by its input, so its own gradients are that convolution of
// dy, and that convolution's gradient by its weights.
std::vector<ValueId> gradient_conv_transpose(GradContext& grad) {
  const Window window = resolve_transposed_window(grad.node(), grad.x_shape(0), grad.x_shape(1));
  std::vector<int64_t> pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  Attributes attributes = {{"dilations", window.dilations},
                           {"group", grad.node().attr_int("group", 1)},
                           {"kernel_shape", window.kernel},
                           {"pads", pads},
                           {"strides", window.strides}};
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  if (grad.wants(0)) dx[0] = grad.add("Conv", {grad.dy(), grad.x(1)}, attributes);
  if (grad.wants(1)) {
    attributes["weight_shape"] = grad.x_shape(1).vector();
    dx[1] = grad.add("ConvGradWeight", {grad.dy(), grad.x(0)}, attributes);
  }
  if (grad.wants(2)) dx[2] = channel_sums(grad);
  return dx;
}

// The transpose of a window: output o meets inputs i with o = i * stride - pad + k * dilation. How
// many depends on the remainder of o; the most count.
Reaches reach_conv_transpose(const NodeView& node, size_t dims) {
  const Window window = resolve_transposed_window(node, node.input_shape(0), node.input_shape(1));
  if (window.rank() != dims) return std::nullopt;
  std::vector<InputWindow> reaches;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i];
    const auto stride = static_cast<double>(window.strides[i]);
    const double middle =
        (static_cast<double>(window.pads_begin[i]) - static_cast<double>(reach) / 2) / stride;
    const int64_t steps_between = reach / window.strides[i];
    const double half = static_cast<double>(steps_between) / 2;
    reaches.push_back({middle - half, middle + half, 1 / stride});
  }
  return reaches;
}

}  // namespace

extern const OpDef kConvTranspose = {.name = "ConvTranspose",
                                     .kind = OpKind::kConvolution,
                                     .inputs = {2, 3},
                                     .attributes = kConvTransposeAttributes,
                                     .roles = kConvTransposeRoles,
                                     .infer = infer_conv_transpose,
                                     .cost = cost_conv_transpose,
                                     .reach = reach_conv_transpose,
                                     .gradient = gradient_conv_transpose,
                                     .saves = SavedTensors::kOtherFactor};

}  // namespace trainyard::ops
