// Conv: sliding dot products over any number of spatial dimensions, in groups.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {
    {"auto_pad", AttrKind::kText}, {"dilations", AttrKind::kInts},
    {"group", AttrKind::kInt},     {"kernel_shape", AttrKind::kInts},
    {"pads", AttrKind::kInts},     {"strides", AttrKind::kInts}};
constexpr ParamRole kRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias};

Window conv_window(const NodeView& node) {
  const Shape& w = node.input_shape(1);
  const std::vector<int64_t> kernel(w.dims().begin() + 2, w.dims().end());
  const std::vector<int64_t> declared = node.attr_ints("kernel_shape", kernel);
  TY_REQUIRE(declared == kernel, "attribute 'kernel_shape' differs from the weights' shape {}",
             w.to_string());
  return resolve_window(node, node.input_shape(0), kernel);
}

std::vector<TensorType> infer(const NodeView& node) {
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
             "{} output channels do not divide into {} groups", w.shape[0], group);
  TY_REQUIRE(x.shape[1] == Shape::kUnknown || x.shape[1] == w.shape[1] * group,
             "input has {} channels, the weights expect {} x {} groups", x.shape[1], w.shape[1],
             group);
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_shape(2) == Shape{w.shape[0]}, "bias has shape {}, expected {}",
               node.input_shape(2).to_string(), w.shape[0]);
  }
  return {{x.dtype, window_output_shape(x.shape[0], w.shape[0], conv_window(node))}};
}

Cost cost(const NodeView& node) {
  Cost cost = traffic(node);
  const Shape& w = node.input_shape(1);
  const int64_t outputs = node.output_shape(0).num_elements();
  cost.macs = outputs * w.num_elements(1, w.rank());
  cost.flops = 2 * cost.macs + (node.has_input(2) ? outputs : 0);
  return cost;
}

std::optional<Window> window(const NodeView& node) {
  return conv_window(node);
}

}  // namespace

extern const OpDef kConv = {.name = "Conv",
                            .kind = OpKind::kConvolution,
                            .inputs = {2, 3},
                            .attributes = kAttributes,
                            .roles = kRoles,
                            .infer = infer,
                            .cost = cost,
                            .window = window};

}  // namespace trainyard::ops
