// LRNGrad: dx of LRN from (x, dy), with the attributes of the LRN it belongs to.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kLrnGradAttributes[] = {{"alpha", AttrKind::kFloat},
                                           {"beta", AttrKind::kFloat},
                                           {"bias", AttrKind::kFloat},
                                           {"size", AttrKind::kInt, true}};

std::vector<TensorType> infer_lrn_grad(const NodeView& node) {
  TY_REQUIRE(node.input_shape(0) == node.input_shape(1), "x has shape {} but dy has {}",
             node.input_shape(0).to_string(), node.input_shape(1).to_string());
  require_floats(node, {1});
  TY_REQUIRE(node.input_shape(0).rank() >= 3, "x has shape {}, expected N x C x spatial",
             node.input_shape(0).to_string());
  constexpr int64_t kLargestSize = int64_t{1} << 31U;
  const int64_t size = node.attr_int("size", 0);
  TY_REQUIRE(1 <= size && size < kLargestSize, "size {} is not possible", size);
  return {node.input_type(0)};
}

// Two sums over the neighbors (2 each), then powers and products.
Cost cost_lrn_grad(const NodeView& node) {
  return elementwise_cost(node, 4 * node.attr_int("size", 1) + 8);
}

}  // namespace

extern const OpDef kLRNGrad = {.name = "LRNGrad",
                               .kind = OpKind::kNormalization,
                               .inputs = {2, 2},
                               .attributes = kLrnGradAttributes,
                               .infer = infer_lrn_grad,
                               .cost = cost_lrn_grad};

}  // namespace trainyard::ops
