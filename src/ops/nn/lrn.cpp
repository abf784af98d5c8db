// LRN: y = x / (bias + alpha / size * sum of x^2 over `size` neighboring channels) ^ beta.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kLrnAttributes[] = {{"alpha", AttrKind::kFloat},
                                       {"beta", AttrKind::kFloat},
                                       {"bias", AttrKind::kFloat},
                                       {"size", AttrKind::kInt, true}};

std::vector<TensorType> infer_lrn(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 3, "input has shape {}, expected N x C x spatial",
             x.shape.to_string());
  constexpr int64_t kLargestSize = int64_t{1} << 31U;
  const int64_t size = node.attr_int("size", 0);
  TY_REQUIRE(1 <= size && size < kLargestSize, "size {} is not possible", size);
  return {x};
}

// Per element: a square and an addition per neighbor, then scale, add, power, divide.
Cost cost_lrn(const NodeView& node) {
  return elementwise_cost(node, 2 * node.attr_int("size", 1) + 4);
}

std::vector<ValueId> gradient_lrn(GradContext& grad) {
  return {grad.add("LRNGrad", {grad.x(0), grad.dy()}, grad.attributes())};
}

}  // namespace

extern const OpDef kLRN = {.name = "LRN",
                           .kind = OpKind::kNormalization,
                           .attributes = kLrnAttributes,
                           .infer = infer_lrn,
                           .cost = cost_lrn,
                           .reach = same_position,
                           .gradient = gradient_lrn,
                           .saves = SavedTensors::kInput,
                           .passes = MemoryPasses{4, 4, 8}};

}  // namespace trainyard::ops
