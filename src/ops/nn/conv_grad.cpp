// Gradients of Conv. ConvGradInput: dx from (dy, w); ConvGradWeight: dw from (x, dy).
//
// Both carry the attributes of the convolution they belong to, and the shape they give back:
// `input_shape` (of x) or `weight_shape` (of w).
#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/nn/conv.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kInputAttributes[] = {
    {"auto_pad", AttrKind::kText},     {"dilations", AttrKind::kInts},
    {"group", AttrKind::kInt},         {"input_shape", AttrKind::kInts, true},
    {"kernel_shape", AttrKind::kInts}, {"pads", AttrKind::kInts},
    {"strides", AttrKind::kInts}};
constexpr AttrSpec kWeightAttributes[] = {{"auto_pad", AttrKind::kText},
                                          {"dilations", AttrKind::kInts},
                                          {"group", AttrKind::kInt},
                                          {"kernel_shape", AttrKind::kInts},
                                          {"pads", AttrKind::kInts},
                                          {"strides", AttrKind::kInts},
                                          {"weight_shape", AttrKind::kInts, true}};

void require_output_gradient_conv_grad(const NodeView& node, const Shape& dy, const Shape& x,
                                       const Shape& w) {
  const Window window = conv_window(node, x, w);
  const int64_t group = node.attr_int("group", 1);
  TY_REQUIRE(group >= 1 && w[0] % group == 0 && x[1] == dim_product(w[1], group),
             "weights of shape {} and input of shape {} do not fit {} groups", w.to_string(),
             x.to_string(), group);
  require_floats(node, {1});
  const Shape expected = window_output_shape(x[0], w[0], window);
  TY_REQUIRE(dy == expected, "dy has shape {}, expected {}", dy.to_string(), expected.to_string());
}

std::vector<TensorType> infer_input(const NodeView& node) {
  const Shape x(node.attr_ints("input_shape", {}));
  const Shape& w = node.input_shape(1);
  require_output_gradient_conv_grad(node, node.input_shape(0), x, w);
  return {{node.input_type(0).dtype, x}};
}

std::vector<TensorType> infer_weight(const NodeView& node) {
  const Shape w(node.attr_ints("weight_shape", {}));
  const Shape& x = node.input_shape(0);
  require_output_gradient_conv_grad(node, node.input_shape(1), x, w);
  return {{node.input_type(0).dtype, w}};
}

// The same products as forward, summed over other indices.
Cost products(const NodeView& node, const Shape& dy, const Shape& w) {
  Cost cost = traffic(node);
  cost.macs = checked_product({dy.num_elements(), w.num_elements(1, w.rank())});
  cost.flops = 2 * cost.macs;
  return cost;
}

Cost cost_input(const NodeView& node) {
  return products(node, node.input_shape(0), node.input_shape(1));
}
Cost cost_weight(const NodeView& node) {
  return products(node, node.input_shape(1), node.output_shape(0));
}

}  // namespace

extern const OpDef kConvGradInput = {.name = "ConvGradInput",
                                     .kind = OpKind::kConvolution,
                                     .inputs = {2, 2},
                                     .attributes = kInputAttributes,
                                     .infer = infer_input,
                                     .cost = cost_input};
extern const OpDef kConvGradWeight = {.name = "ConvGradWeight",
                                      .kind = OpKind::kConvolution,
                                      .inputs = {2, 2},
                                      .attributes = kWeightAttributes,
                                      .infer = infer_weight,
                                      .cost = cost_weight};

}  // namespace trainyard::ops
