// Losses of class scores, and their gradients. See ops/training/classification_loss.cpp.
#include <limits>

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

// A label that no data set has: nothing is ignored.
constexpr int64_t kNoLabel = std::numeric_limits<int64_t>::min();

struct Targets {
  explicit Targets(const Node& node)
      : softmax(node.op().substr(0, 7) == "Softmax"),
        reduction(node.attr_text("reduction", "mean")),
        ignored(node.attr_int("ignore_index", kNoLabel)) {}

  bool softmax;
  std::string reduction;
  int64_t ignored;
};

const char* refuses_loss(const Node& node) {
  if (node.input(0).type != kTorchF32) return "only f32 is implemented";
  const int32_t labels = node.input(1).type;
  return labels == kTorchI64 || labels == kTorchI32 ? "" : "labels that are no whole numbers";
}

Run make_loss(const Node& node) {
  const Targets targets(node);
  const int64_t reduction = targets.reduction == "none"  ? at::Reduction::None
                            : targets.reduction == "sum" ? at::Reduction::Sum
                                                         : at::Reduction::Mean;
  return [=](const Tensors& in, const Tensors& out) {
    const Tensor scores = targets.softmax ? at::log_softmax(in[0], 1) : in[0];
    const auto weights =
        in.size() > 2 && in[2].defined() ? c10::optional<Tensor>(in[2]) : c10::optional<Tensor>();
    out[0].copy_(at::nll_loss_nd(scores, in[1].to(at::kLong), weights, reduction, targets.ignored));
    if (out.size() > 1 && out[1].defined()) out[1].copy_(scores);
  };
}

// dx = share * (softmax(x) - 1 at the target), or share * -1 at the target.
Run make_loss_gradient(const Node& node) {
  const Targets targets(node);
  return [targets](const Tensors& in, const Tensors& out) {
    const Tensor labels = in[1].to(at::kLong);
    const Tensor counts = labels.ne(targets.ignored);
    const Tensor at_labels = at::where(counts, labels, at::zeros_like(labels));
    Tensor share = counts.to(in[0].scalar_type());
    if (in.size() > 3 && in[3].defined()) {
      share.mul_(at::index_select(in[3], 0, at_labels.reshape({-1})).view(share.sizes()));
    }
    if (targets.reduction == "mean") share = at::div(share, share.sum());
    share = at::mul(share, in[2]);
    Tensor dx = out[0];
    if (targets.softmax) {
      at::_softmax_out(dx, in[0], 1, false);
    } else {
      dx.zero_();
    }
    dx.scatter_add_(1, at_labels.unsqueeze(1),
                    at::full({1}, -1, dx.options()).expand_as(at_labels.unsqueeze(1)));
    dx.mul_(share.unsqueeze(1));
  };
}

constexpr Operator kLosses[] = {
    {"NegativeLogLikelihoodLoss", refuses_loss, make_loss},
    {"NegativeLogLikelihoodLossGrad", refuses_loss, make_loss_gradient},
    {"SoftmaxCrossEntropyLoss", refuses_loss, make_loss},
    {"SoftmaxCrossEntropyLossGrad", refuses_loss, make_loss_gradient},
};

}  // namespace

std::span<const Operator> loss_operators() {
  return kLosses;
}

}  // namespace trainyard::torch_plugin
