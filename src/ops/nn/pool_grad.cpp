// Gradients of pooling. MaxPoolGrad: dx from (x, dy); AveragePoolGrad: dx from dy.
//
// They carry the attributes of the pooling they belong to and, for the average, `input_shape`. The
// largest element of a window (the first of equals) takes the whole of its dy.
#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kPoolGradMaxAttributes[] = {
    {"auto_pad", AttrKind::kText},  {"ceil_mode", AttrKind::kInt},
    {"dilations", AttrKind::kInts}, {"kernel_shape", AttrKind::kInts, true},
    {"pads", AttrKind::kInts},      {"strides", AttrKind::kInts}};
constexpr AttrSpec kPoolGradAverageAttributes[] = {{"auto_pad", AttrKind::kText},
                                                   {"ceil_mode", AttrKind::kInt},
                                                   {"count_include_pad", AttrKind::kInt},
                                                   {"input_shape", AttrKind::kInts, true},
                                                   {"kernel_shape", AttrKind::kInts, true},
                                                   {"pads", AttrKind::kInts},
                                                   {"strides", AttrKind::kInts}};

void require_output_gradient_pool_grad(const NodeView& node, const Shape& x, const Shape& dy) {
  TY_REQUIRE(x.rank() >= 3, "input has shape {}, expected N x C x spatial", x.to_string());
  require_floats(node, {1});
  const Window window = resolve_window(node, x, node.attr_ints("kernel_shape", {}));
  const Shape expected = window_output_shape(x[0], x[1], window);
  TY_REQUIRE(dy == expected, "dy has shape {}, expected {}", dy.to_string(), expected.to_string());
}

std::vector<TensorType> infer_max(const NodeView& node) {
  require_output_gradient_pool_grad(node, node.input_shape(0), node.input_shape(1));
  return {node.input_type(0)};
}

std::vector<TensorType> infer_average(const NodeView& node) {
  const Shape x(node.attr_ints("input_shape", {}));
  require_output_gradient_pool_grad(node, x, node.input_shape(0));
  return {{node.input_type(0).dtype, x}};
}

// One comparison or addition per window element.
Cost window_cost(const NodeView& node, const Shape& dy) {
  Cost cost = traffic(node);
  cost.flops = checked_product(
      {Shape(node.attr_ints("kernel_shape", {})).num_elements(), dy.num_elements()});
  return cost;
}

Cost cost_max(const NodeView& node) {
  return window_cost(node, node.input_shape(1));
}
Cost cost_average(const NodeView& node) {
  return window_cost(node, node.input_shape(0));
}

}  // namespace

extern const OpDef kMaxPoolGrad = {.name = "MaxPoolGrad",
                                   .kind = OpKind::kPooling,
                                   .inputs = {2, 2},
                                   .attributes = kPoolGradMaxAttributes,
                                   .infer = infer_max,
                                   .cost = cost_max};
extern const OpDef kAveragePoolGrad = {.name = "AveragePoolGrad",
                                       .kind = OpKind::kPooling,
                                       .attributes = kPoolGradAverageAttributes,
                                       .infer = infer_average,
                                       .cost = cost_average};

}  // namespace trainyard::ops
