// LayerNormalization: y = scale * (x - mean) / sqrt(var + epsilon) + bias, where mean and variance
// are those of the dimensions from `axis` on. Outputs 1 and 2 are mean and 1 / sqrt(var + epsilon).
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/nn/standardize.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kLayerNormalizationAttributes[] = {
    {"axis", AttrKind::kInt}, {"epsilon", AttrKind::kFloat}, {"stash_type", AttrKind::kInt}};
constexpr ParamRole kLayerNormalizationRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                                  ParamRole::kBias};
// ONNX's number for f32, the only type statistics may be kept in.
constexpr int64_t kStashFloat = 1;

std::vector<TensorType> infer_layer_normalization(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  TY_REQUIRE(node.attr_int("stash_type", kStashFloat) == kStashFloat,
             "stash_type is {}, expected {} (f32)", node.attr_int("stash_type", kStashFloat),
             kStashFloat);
  require_floats(node, {1, 2});
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    TY_REQUIRE(broadcast_shapes(node.input_shape(i), x.shape) == x.shape,
               "input {} of shape {} does not broadcast to {}", i, node.input_shape(i).to_string(),
               x.shape.to_string());
  }
  Shape statistics = x.shape;
  for (int64_t i = axis; i < statistics.rank(); ++i) statistics[i] = 1;
  const DType stash = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return {x, {stash, statistics}, {stash, statistics}};
}

// Per element: one addition for the mean, three for the variance, subtract, scale, scale again and
// shift.
Cost cost_layer_normalization(const NodeView& node) {
  return elementwise_cost(node, node.has_input(2) ? 8 : 7);
}

std::vector<ValueId> gradient_layer_normalization(GradContext& grad) {
  TY_REQUIRE(grad.dy(0).valid(), "gradients of mean and deviation are not implemented");
  const Shape x = grad.x_shape(0);
  std::vector<int64_t> axes;
  for (int64_t i = normalize_axis(grad.node().attr_int("axis", -1), x.rank(), grad.node().op());
       i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const Standardized s =
      standardize(grad, grad.x(0), axes, double{grad.node().attr_float("epsilon", 1e-5F)});
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  if (grad.wants(0)) {
    dx[0] = standardize_gradient(grad, s, grad.add("Mul", {grad.dy(), grad.x(1)}));
  }
  if (grad.wants(1)) {
    dx[1] = grad.sum_to(grad.add("Mul", {grad.dy(), s.value}), grad.x_shape(1));
  }
  if (grad.wants(2)) dx[2] = grad.sum_to(grad.dy(), grad.x_shape(2));
  return dx;
}

}  // namespace

extern const OpDef kLayerNormalization = {.name = "LayerNormalization",
                                          .kind = OpKind::kNormalization,
                                          .inputs = {2, 3},
                                          .outputs = {1, 3},
                                          .attributes = kLayerNormalizationAttributes,
                                          .roles = kLayerNormalizationRoles,
                                          .infer = infer_layer_normalization,
                                          .cost = cost_layer_normalization,
                                          .gradient = gradient_layer_normalization,
                                          .saves = SavedTensors::kInput};

}  // namespace trainyard::ops
