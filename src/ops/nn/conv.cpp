// Conv, ConvInteger and QLinearConv: sliding dot products over any number of spatial dimensions, in
// groups. ConvInteger sums (x - x_zero_point) * (w - w_zero_point) exactly; QLinearConv brings such
// sums back to eight bits.
#include "ops/nn/conv.h"

#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/nn/conv_bias.h"
#include "ops/op_def.h"
#include "ops/quantize/quantization.h"

namespace trainyard::ops {

Window conv_window(const NodeView& node, const Shape& x, const Shape& w) {
  TY_REQUIRE(x.rank() >= 3 && w.rank() == x.rank(),
             "weights of shape {} do not fit input of shape {}", w.to_string(), x.to_string());
  const std::vector<int64_t> kernel(w.dims().begin() + 2, w.dims().end());
  const std::vector<int64_t> declared = node.attr_ints("kernel_shape", kernel);
  TY_REQUIRE(declared == kernel, "attribute 'kernel_shape' differs from the weights' shape {}",
             w.to_string());
  return resolve_window(node, x, kernel);
}

namespace {

constexpr AttrSpec kConvAttributes[] = {
    {"auto_pad", AttrKind::kText}, {"dilations", AttrKind::kInts},
    {"group", AttrKind::kInt},     {"kernel_shape", AttrKind::kInts},
    {"pads", AttrKind::kInts},     {"strides", AttrKind::kInts}};
constexpr ParamRole kConvRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias};
constexpr ParamRole kIntegerRoles[] = {ParamRole::kNone, ParamRole::kWeight};
// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias
constexpr ParamRole kConvQLinearRoles[] = {ParamRole::kNone,   ParamRole::kNone, ParamRole::kNone,
                                           ParamRole::kWeight, ParamRole::kNone, ParamRole::kNone,
                                           ParamRole::kNone,   ParamRole::kNone, ParamRole::kBias};

size_t weights_position(const NodeView& node) {
  return node.op() == "QLinearConv" ? 3 : 1;
}

Window own_window(const NodeView& node) {
  return conv_window(node, node.input_shape(0), node.input_shape(weights_position(node)));
}

// The output's shape; `bias` is the position of the optional bias.
Shape conv_shape(const NodeView& node, size_t bias) {
  const Shape& x = node.input_shape(0);
  const Shape& w = node.input_shape(weights_position(node));
  TY_REQUIRE(x.rank() >= 3, "input has shape {}, expected N x C x spatial", x.to_string());
  TY_REQUIRE(w.rank() == x.rank(), "weights of shape {} do not fit input of shape {}",
             w.to_string(), x.to_string());
  const int64_t group = node.attr_int("group", 1);
  TY_REQUIRE(group >= 1 && w[0] % group == 0, "{} output channels do not divide into {} groups",
             w[0], group);
  TY_REQUIRE(x[1] == Shape::kUnknown || x[1] == w[1] * group,
             "input has {} channels, the weights expect {} x {} groups", x[1], w[1], group);
  if (node.has_input(bias)) {
    TY_REQUIRE(node.input_shape(bias) == Shape{w[0]}, "bias has shape {}, expected {}",
               node.input_shape(bias).to_string(), w[0]);
  }
  return window_output_shape(x[0], w[0], own_window(node));
}

std::vector<TensorType> infer_conv(const NodeView& node) {
  const DType x = node.input_type(0).dtype;
  const DType w = node.input_type(1).dtype;
  TY_REQUIRE(w == x, "weights are {} but the input is {}", dtype_name(w), dtype_name(x));
  require_alike(node, {2});
  return {{x, conv_shape(node, 2)}};
}

std::vector<TensorType> infer_integer_conv(const NodeView& node) {
  constexpr size_t kNoBias = 6;  // more inputs than there are
  const Shape y = conv_shape(node, kNoBias);
  require_eight_bits(node, {0, 1});
  require_zero_point(node, 2, 0, 1);
  require_zero_point(node, 3, 1, node.input_shape(1)[0]);
  return {{DType::kI32, y}};
}

std::vector<TensorType> infer_scaled_conv(const NodeView& node) {
  std::vector<TensorType> y = infer_integer_conv(node);
  require_scaling(node, node.input_shape(1)[0]);
  y[0].dtype = DType::kF32;
  return y;
}

std::vector<TensorType> infer_qlinear_conv(const NodeView& node) {
  const Shape y = conv_shape(node, 8);
  const int64_t channels = node.input_shape(3)[0];
  require_eight_bits(node, {0, 3, 7});
  require_scale(node, 1, 1);
  require_zero_point(node, 2, 0, 1);
  require_scale(node, 4, channels);
  require_zero_point(node, 5, 3, channels);
  require_scale(node, 6, 1);
  require_zero_point(node, 7, 7, 1);
  if (node.has_input(8)) {
    TY_REQUIRE(node.input_type(8).dtype == DType::kI32, "bias is {}, expected i32",
               dtype_name(node.input_type(8).dtype));
  }
  return {{node.input_type(7).dtype, y}};
}

// One MAC per output element and weight it sees; a bias adds one FLOP per output element.
Cost conv_cost(const NodeView& node, int64_t per_output) {
  Cost cost = traffic(node);
  const Shape& w = node.input_shape(weights_position(node));
  const int64_t outputs = node.output_shape(0).num_elements();
  cost.macs = checked_product({outputs, w.num_elements(1, w.rank())});
  cost.flops = 2 * cost.macs + outputs * per_output;
  return cost;
}

Cost cost_conv(const NodeView& node) {
  return conv_cost(node, node.has_input(2) ? 1 : 0);
}

Cost cost_integer(const NodeView& node) {
  return conv_cost(node, 0);
}

// Each output element is also scaled, maybe shifted.
Cost cost_scaled_conv(const NodeView& node) {
  return conv_cost(node, node.has_input(kScalingBias) ? 2 : 1);
}

// Each output element is also scaled, rounded and shifted.
Cost cost_qlinear_conv(const NodeView& node) {
  return conv_cost(node, node.has_input(8) ? 4 : 3);
}

std::optional<Window> window_conv(const NodeView& node) {
  return own_window(node);
}

std::vector<ValueId> gradient_conv(GradContext& grad) {
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  Attributes attributes = grad.attributes();
  if (grad.wants(0)) {
    attributes["input_shape"] = grad.x_shape(0).vector();
    dx[0] = grad.add("ConvGradInput", {grad.dy(), grad.x(1)}, attributes);
    attributes.erase("input_shape");
  }
  if (grad.wants(1)) {
    attributes["weight_shape"] = grad.x_shape(1).vector();
    dx[1] = grad.add("ConvGradWeight", {grad.x(0), grad.dy()}, attributes);
  }
  if (grad.wants(2)) dx[2] = channel_sums(grad);
  return dx;
}

}  // namespace

ValueId channel_sums(GradContext& grad) {
  std::vector<int64_t> axes = {0};
  for (int64_t i = 2; i < grad.x_shape(0).rank(); ++i) axes.push_back(i);
  return grad.add("ReduceSum", {grad.dy(), grad.ints(axes)}, {{"keepdims", int64_t{0}}});
}

extern const OpDef kConv = {.name = "Conv",
                            .kind = OpKind::kConvolution,
                            .inputs = {2, 3},
                            .attributes = kConvAttributes,
                            .roles = kConvRoles,
                            .infer = infer_conv,
                            .cost = cost_conv,
                            .window = window_conv,
                            .gradient = gradient_conv,
                            .saves = SavedTensors::kOtherFactor,
                            .with_activation = "FusedConv",
                            .int8 = Int8Form::kLayer};
extern const OpDef kConvInteger = {.name = "ConvInteger",
                                   .kind = OpKind::kConvolution,
                                   .inputs = {2, 4},
                                   .attributes = kConvAttributes,
                                   .roles = kIntegerRoles,
                                   .infer = infer_integer_conv,
                                   .cost = cost_integer,
                                   .window = window_conv,
                                   .no_gradient = NoGradient::kNever};
// ConvInteger, times a scale, plus a bias; see require_scaling(). No file has it.
extern const OpDef kScaledConvInteger = {.name = "ScaledConvInteger",
                                         .kind = OpKind::kConvolution,
                                         .inputs = {5, 6},
                                         .attributes = kConvAttributes,
                                         .roles = kIntegerRoles,
                                         .infer = infer_scaled_conv,
                                         .cost = cost_scaled_conv,
                                         .window = window_conv};
extern const OpDef kQLinearConv = {.name = "QLinearConv",
                                   .kind = OpKind::kConvolution,
                                   .inputs = {8, 9},
                                   .attributes = kConvAttributes,
                                   .roles = kConvQLinearRoles,
                                   .infer = infer_qlinear_conv,
                                   .cost = cost_qlinear_conv,
                                   .window = window_conv,
                                   .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
