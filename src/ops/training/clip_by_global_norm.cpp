// ClipByGlobalNorm: any number of gradients, all scaled by the same factor if their common norm
// (the root of the sum of all squares) is above `max_norm`. Outputs: the gradients, then the norm
// before scaling. GlobalNorm: the norm alone.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kClipByGlobalNormAttributes[] = {{"max_norm", AttrKind::kFloat, true}};

std::vector<TensorType> infer_clip_by_global_norm(const NodeView& node) {
  const float limit = node.attr_float("max_norm", 0);
  TY_REQUIRE(limit > 0, "max_norm {} is not positive", limit);
  TY_REQUIRE(node.num_outputs() == node.num_inputs() + 1, "it has {} outputs, expected {}",
             node.num_outputs(), node.num_inputs() + 1);
  std::vector<TensorType> types;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    TY_REQUIRE(node.input_type(i).dtype == node.input_type(0).dtype,
               "input {} is {}, input 0 is {}", i, node.input_type(i).to_string(),
               node.input_type(0).to_string());
    types.push_back(node.input_type(i));
  }
  types.push_back({node.input_type(0).dtype, {}});
  return types;
}

// Square, add and scale each element.
Cost cost_clip_by_global_norm(const NodeView& node) {
  Cost cost = traffic(node);
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    cost.flops += 3 * node.input_shape(i).num_elements();
  }
  return cost;
}

std::vector<TensorType> infer_global_norm(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    TY_REQUIRE(
        is_float(node.input_type(i).dtype) && node.input_type(i).dtype == node.input_type(0).dtype,
        "input {} is {}, input 0 is {}", i, node.input_type(i).to_string(),
        node.input_type(0).to_string());
  }
  return {{node.input_type(0).dtype, {}}};
}

// Square and add each element.
Cost cost_global_norm(const NodeView& node) {
  Cost cost = traffic(node);
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    cost.flops += 2 * node.input_shape(i).num_elements();
  }
  return cost;
}

}  // namespace

extern const OpDef kClipByGlobalNorm = {.name = "ClipByGlobalNorm",
                                        .kind = OpKind::kOptimizer,
                                        .inputs = {1, Arity::kMany},
                                        .outputs = {2, Arity::kMany},
                                        .attributes = kClipByGlobalNormAttributes,
                                        .infer = infer_clip_by_global_norm,
                                        .cost = cost_clip_by_global_norm};

extern const OpDef kGlobalNorm = {.name = "GlobalNorm",
                                  .kind = OpKind::kOptimizer,
                                  .inputs = {1, Arity::kMany},
                                  .outputs = {1, 1},
                                  .infer = infer_global_norm,
                                  .cost = cost_global_norm};

}  // namespace trainyard::ops
