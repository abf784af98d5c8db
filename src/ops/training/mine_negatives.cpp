// MineNegatives (ours, not ONNX): which samples the class loss of a detector counts. From scores
// (N x priors x classes, background first) and labels (N x priors, 0: background) it makes labels
// with -1 for what is not counted: of each picture's background priors, those that the network
// takes for something else most are kept, `ratio` times as many as the picture has others. A
// picture without any keeps none.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kMineNegativesAttributes[] = {{"ratio", AttrKind::kFloat}};

std::vector<TensorType> infer_mine_negatives(const NodeView& node) {
  const TensorType& scores = node.input_type(0);
  const TensorType& labels = node.input_type(1);
  TY_REQUIRE(scores.dtype == DType::kF32 && scores.shape.rank() == 3,
             "scores are {}, expected f32 of N x priors x classes", scores.to_string());
  const TensorType expected{DType::kI64, {scores.shape[0], scores.shape[1]}};
  TY_REQUIRE(labels == expected, "labels are {}, expected {} for scores of {}", labels.to_string(),
             expected.to_string(), scores.shape.to_string());
  TY_REQUIRE(node.attr_float("ratio", 3) >= 0, "ratio is {}, expected 0 or more",
             node.attr_float("ratio", 3));
  return {expected};
}

// Per score: compare, subtract, exp and add, for the loss as background.
Cost cost_mine_negatives(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = 4 * node.input_shape(0).num_elements();
  return cost;
}

}  // namespace

extern const OpDef kMineNegatives = {.name = "MineNegatives",
                                     .kind = OpKind::kLoss,
                                     .inputs = {2, 2},
                                     .attributes = kMineNegativesAttributes,
                                     .infer = infer_mine_negatives,
                                     .cost = cost_mine_negatives,
                                     .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
