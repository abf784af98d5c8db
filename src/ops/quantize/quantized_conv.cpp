// QuantizedConv: a convolution of u8 by i8 with everything that follows it. The compiler makes it
// from quantized ONNX nodes; no file has it.
//
//   sum = bias[c] + sum of (x - x_zero) * w                        exact, in integers
//   y   = sum * multiplier[c]                                      f32, without attribute y_zero
//   y   = clamp(round(sum * multiplier[c]) + y_zero, low, high)    u8
//
// With another tensor to add, y - y_zero goes on as own:
//   z = clamp(round(own * own_ratio + (added - sum_zero) * sum_ratio) + out_zero, out_low,
//   out_high)
#include "base/checked.h"
#include "base/error.h"
#include "ops/nn/conv.h"
#include "ops/op_def.h"
#include "ops/quantize/quantized.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kQuantizedConvAttributes[] = {
    {"auto_pad", AttrKind::kText},     {"dilations", AttrKind::kInts},
    {"group", AttrKind::kInt},         {"high", AttrKind::kInt},
    {"kernel_shape", AttrKind::kInts}, {"low", AttrKind::kInt},
    {"out_high", AttrKind::kInt},      {"out_low", AttrKind::kInt},
    {"out_zero", AttrKind::kInt},      {"own_ratio", AttrKind::kFloat},
    {"pads", AttrKind::kInts},         {"strides", AttrKind::kInts},
    {"sum_ratio", AttrKind::kFloat},   {"sum_zero", AttrKind::kInt},
    {"x_zero", AttrKind::kInt},        {"y_zero", AttrKind::kInt}};
constexpr ParamRole kQuantizedConvRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                             ParamRole::kBias};

void require_per_channel(const NodeView& node, size_t input, DType dtype, int64_t channels) {
  const TensorType expected{dtype, {channels}};
  TY_REQUIRE(node.input_type(input) == expected, "input {} is {}, expected {}", input,
             node.input_type(input).to_string(), expected.to_string());
}

std::vector<TensorType> infer_quantized_conv(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const TensorType& w = node.input_type(1);
  TY_REQUIRE(x.dtype == DType::kU8 && w.dtype == DType::kI8,
             "input and weights are {} and {}, expected u8 and i8", dtype_name(x.dtype),
             dtype_name(w.dtype));
  TY_REQUIRE(x.shape.rank() >= 3 && w.shape.rank() == x.shape.rank(),
             "weights of shape {} do not fit input of shape {}", w.shape.to_string(),
             x.shape.to_string());
  const int64_t group = node.attr_int("group", 1);
  TY_REQUIRE(group >= 1 && w.shape[0] % group == 0 && x.shape[1] == w.shape[1] * group,
             "weights of shape {} in {} groups do not fit {} channels", w.shape.to_string(), group,
             x.shape[1]);
  require_per_channel(node, kQuantizedBias, DType::kI32, w.shape[0]);
  require_per_channel(node, kQuantizedMultiplier, DType::kF32, w.shape[0]);
  const DType y = node.has_attr("y_zero") ? DType::kU8 : DType::kF32;
  const TensorType type{
      y, window_output_shape(x.shape[0], w.shape[0], conv_window(node, x.shape, w.shape))};
  if (node.has_input(kQuantizedSum)) {
    TY_REQUIRE(y == DType::kU8 && node.input_type(kQuantizedSum) == type,
               "the added tensor is {}, expected {}", node.input_type(kQuantizedSum).to_string(),
               type.to_string());
  }
  return {type};
}

// Each output element is scaled, rounded and shifted, twice with a sum.
Cost cost_quantized_conv(const NodeView& node) {
  Cost cost = traffic(node);
  const Shape& w = node.input_shape(1);
  const int64_t outputs = node.output_shape(0).num_elements();
  cost.macs = checked_product({outputs, w.num_elements(1, w.rank())});
  cost.flops = 2 * cost.macs + outputs * (node.has_input(kQuantizedSum) ? 8 : 4);
  return cost;
}

std::optional<Window> window_quantized_conv(const NodeView& node) {
  return conv_window(node, node.input_shape(0), node.input_shape(1));
}

}  // namespace

extern const OpDef kQuantizedConv = {.name = "QuantizedConv",
                                     .kind = OpKind::kConvolution,
                                     .inputs = {4, 5},
                                     .attributes = kQuantizedConvAttributes,
                                     .roles = kQuantizedConvRoles,
                                     .infer = infer_quantized_conv,
                                     .cost = cost_quantized_conv,
                                     .window = window_quantized_conv};

}  // namespace trainyard::ops
