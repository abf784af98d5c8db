// MineNegatives: which priors the class loss of a detector counts. See
// ops/training/mine_negatives.cpp.
#include <limits>

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

constexpr int64_t kNotCounted = -1;

const char* refuses_mining(const Node& node) {
  return node.input(0).type == kTorchF32 ? "" : "only f32 is implemented";
}

Run make_mining(const Node& node) {
  const double ratio = node.attr_float("ratio", 3);
  return [ratio](const Tensors& in, const Tensors& out) {
    const Tensor& labels = in[1];
    const Tensor background = labels.eq(0);
    // -log softmax(scores)[0], in double precision as elsewhere, since its order decides. Scores
    // that are no numbers come last of the background, and what is none behind them.
    const Tensor scores = in[0].to(at::kDouble);
    const Tensor losses =
        at::sub(at::logsumexp(scores, {2}), scores.select(2, 0))
            .nan_to_num_(-1)
            .masked_fill_(background.logical_not(), -std::numeric_limits<double>::infinity());
    // Of equal losses the first prior comes first.
    const Tensor order = std::get<1>(at::sort(losses, /*stable=*/true, 1, /*descending=*/true));
    const Tensor places = at::arange(labels.size(1), labels.options()).expand_as(order);
    const Tensor place = at::empty_like(order).scatter_(1, order, places);
    const Tensor most = labels.gt(0).sum(1, /*keepdim=*/true).mul(ratio).to(at::kLong);
    out[0].copy_(labels);
    out[0].masked_fill_(labels.le(0), kNotCounted);
    out[0].masked_fill_(background.logical_and(place.lt(most)), 0);
  };
}

constexpr Operator kDetections[] = {{"MineNegatives", refuses_mining, make_mining}};

}  // namespace

std::span<const Operator> detection_operators() {
  return kDetections;
}

}  // namespace trainyard::torch_plugin
