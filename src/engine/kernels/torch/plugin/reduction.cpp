// Reductions along axes, and softmax.
#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

using Reduce = void (*)(Tensor& y, const Tensor& x, const Ints& axes, bool keep);

Ints reduced_axes(const Node& node) {
  Ints axes = node.has_input(1) ? node.known_ints(1) : node.attr_ints("axes", {});
  if (axes.empty()) {
    for (int64_t i = 0; i < node.input_rank(0); ++i) axes.push_back(i);
  }
  return axes;
}

// Counts are whole numbers.
bool sums_counts(const Node& node) {
  return node.op() == "ReduceSum" && node.input(0).type == kTorchI64;
}

const char* refuses_reduction(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0 && !sums_counts(node)) {
    return reason;
  }
  if (node.has_input(1) && !node.is_known(1)) return "the axes are not known before the run";
  if (node.attr_int("noop_with_empty_axes", 0) != 0) return "empty axes that mean none";
  for (const int64_t dim : node.input_dims(0)) {
    if (dim == 0) return "the input is empty";
  }
  return "";
}

template <Reduce kReduce>
Run make_reduction(const Node& node) {
  const Ints axes = reduced_axes(node);
  const bool keep = node.attr_int("keepdims", 1) != 0;
  return [axes, keep](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    if (in[0].dim() == 0) {
      kReduce(y, in[0].unsqueeze(0), {0}, false);
    } else {
      kReduce(y, in[0], axes, keep);
    }
  };
}

void l1(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::sum_out(y, at::abs(x), axes, keep);
}
void l2(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::sum_out(y, at::square(x), axes, keep).sqrt_();
}
void log_sum(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::sum_out(y, x, axes, keep).log_();
}
void log_sum_exp(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::logsumexp_out(y, x, axes, keep);
}
void most(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::amax_out(y, x, axes, keep);
}
void mean(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::mean_out(y, x, axes, keep);
}
void least(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::amin_out(y, x, axes, keep);
}
void sum(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::sum_out(y, x, axes, keep);
}
void squares(Tensor& y, const Tensor& x, const Ints& axes, bool keep) {
  at::sum_out(y, at::square(x), axes, keep);
}

Run make_softmax(const Node& node) {
  const int64_t axis = node.attr_axis(-1, node.input_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::_softmax_out(y, in[0], axis, false);
  };
}

Run make_log_softmax(const Node& node) {
  const int64_t axis = node.attr_axis(-1, node.input_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::_log_softmax_out(y, in[0], axis, false);
  };
}

const char* refuses_largest(const Node& node) {
  if (node.input(0).type != kTorchF32) return "only f32 is implemented";
  return node.attr_int("select_last_index", 0) != 0 ? "the last of equals is not implemented" : "";
}

// The first of equals.
Run make_largest(const Node& node) {
  const int64_t axis = node.attr_axis(0, node.input_rank(0));
  const bool keep = node.attr_int("keepdims", 1) != 0;
  return [axis, keep](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::argmax_out(y, in[0], axis, keep);
  };
}

const char* refuses_top_k(const Node& node) {
  return node.input(0).type == kTorchF32 ? "" : "only f32 is implemented";
}

// The first of equals comes first, which libtorch's own topk does not promise.
Run make_top_k(const Node& node) {
  const int64_t axis = node.attr_axis(-1, node.input_rank(0));
  const bool largest = node.attr_int("largest", 1) != 0;
  const int64_t count = node.output_dims(0)[static_cast<size_t>(axis)];
  return [=](const Tensors& in, const Tensors& out) {
    const auto [values, places] = at::sort(in[0], /*stable=*/true, axis, /*descending=*/largest);
    if (out[0].defined()) out[0].copy_(values.narrow(axis, 0, count));
    if (out[1].defined()) out[1].copy_(places.narrow(axis, 0, count));
  };
}

// Whole numbers count the texts of a row.
const char* refuses_cumulative(const Node& node) {
  const char* reason = refuses_unless_f32(node);
  if (*reason != 0 && node.input(0).type != kTorchI64) return reason;
  if (node.known_ints(1).size() != 1) return "the axis is not known before the run";
  const bool plain = node.attr_int("exclusive", 0) == 0 && node.attr_int("reverse", 0) == 0;
  return plain ? "" : "only sums from the first to each are implemented";
}

Run make_cumulative(const Node& node) {
  const int64_t axis = node.known_ints(1)[0];
  return [axis](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::cumsum_out(y, in[0], axis);
  };
}

constexpr Operator kReductions[] = {
    {"ArgMax", refuses_largest, make_largest},
    {"CumSum", refuses_cumulative, make_cumulative},
    {"LogSoftmax", refuses_unless_f32, make_log_softmax},
    {"ReduceL1", refuses_reduction, make_reduction<l1>},
    {"ReduceL2", refuses_reduction, make_reduction<l2>},
    {"ReduceLogSum", refuses_reduction, make_reduction<log_sum>},
    {"ReduceLogSumExp", refuses_reduction, make_reduction<log_sum_exp>},
    {"ReduceMax", refuses_reduction, make_reduction<most>},
    {"ReduceMean", refuses_reduction, make_reduction<mean>},
    {"ReduceMin", refuses_reduction, make_reduction<least>},
    {"ReduceSum", refuses_reduction, make_reduction<sum>},
    {"ReduceSumSquare", refuses_reduction, make_reduction<squares>},
    {"Softmax", refuses_unless_f32, make_softmax},
    {"TopK", refuses_top_k, make_top_k},
};

}  // namespace

std::span<const Operator> reduction_operators() {
  return kReductions;
}

}  // namespace trainyard::torch_plugin
