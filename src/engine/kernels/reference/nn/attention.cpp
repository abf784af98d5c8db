// Attention, one query of one head at a time.
#include "ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

class Attention final : public Kernel {
 public:
  explicit Attention(const NodeView& node)
      : a_(ops::attention_shape(node)), mode_(node.attr_int("qk_matmul_output_mode", 0)) {}

  void run(const KernelArgs& args) const override {
    std::vector<double> scores(static_cast<size_t>(a_.total()));
    for (int64_t b = 0; b < a_.batch; ++b) {
      for (int64_t h = 0; h < a_.query_heads; ++h) {
        for (int64_t i = 0; i < a_.queries; ++i) run_query(args, b, h, i, scores);
      }
    }
    keep(input_or_none(args, 4), args.inputs[1], a_.k, a_.depth, output_or_none(args, 1));
    keep(input_or_none(args, 5), args.inputs[2], a_.v, a_.value_depth, output_or_none(args, 2));
  }

 private:
  // Element (row, column) of keys or values, those of calls before first.
  double at(const TensorView& past, const TensorView& now, const ops::HeadStrides& strides,
            int64_t columns, int64_t b, int64_t h, int64_t row, int64_t column) const {
    if (row < a_.past)
      return float_at(past, ((b * a_.heads + h) * a_.past + row) * columns + column);
    return float_at(now, strides.at(b, h, row - a_.past) + column);
  }

  double mask_at(const KernelArgs& args, int64_t b, int64_t h, int64_t i, int64_t j) const {
    const TensorView mask = input_or_none(args, 3);
    const TensorView lengths = input_or_none(args, 6);
    int64_t offset = a_.past;
    if (lengths.data != nullptr) {
      const int64_t valid = element_as_int(lengths, b);
      if (j >= valid) return kMasked;
      offset = valid - a_.queries;
    }
    if (a_.causal && j > i + offset) return kMasked;
    if (mask.data == nullptr) return 0;
    const ops::MaskStrides strides = ops::mask_strides(*mask.shape);
    const int64_t column = strides.length == 1 && a_.total() != 1 ? 0 : j;
    if (column >= strides.length) return kMasked;
    const int64_t place = b * strides.batch + h * strides.head + i * strides.row + column;
    if (mask.dtype == DType::kBool) return mask.as<bool>()[place] ? 0 : kMasked;
    return element_as_double(mask, place);
  }

  void run_query(const KernelArgs& args, int64_t b, int64_t h, int64_t i,
                 std::vector<double>& scores) const {
    const int64_t kv = h / (a_.query_heads / a_.heads);
    const TensorView out = output_or_none(args, 3);
    const int64_t first = ((b * a_.query_heads + h) * a_.queries + i) * a_.total();
    const auto show = [&](int64_t mode, int64_t j, double value) {
      if (out.data != nullptr && mode_ == mode) store_float(out, first + j, value);
    };
    double largest = kMasked;
    for (int64_t j = 0; j < a_.total(); ++j) {
      double score = 0;
      for (int64_t d = 0; d < a_.depth; ++d) {
        score += float_at(args.inputs[0], a_.q.at(b, h, i) + d) *
                 at(input_or_none(args, 4), args.inputs[1], a_.k, a_.depth, b, kv, j, d);
      }
      score *= a_.scale;
      show(0, j, score);
      if (a_.softcap > 0) score = a_.softcap * std::tanh(score / a_.softcap);
      show(1, j, score);
      score += mask_at(args, b, h, i, j);
      show(2, j, score);
      scores[static_cast<size_t>(j)] = score;
      largest = std::max(largest, score);
    }
    double sum = 0;
    for (double& score : scores) {
      // A query that may look at nothing gives zeros.
      score = largest == kMasked ? 0.0 : std::exp(score - largest);
      sum += score;
    }
    for (int64_t j = 0; j < a_.total(); ++j) {
      double& share = scores[static_cast<size_t>(j)];
      if (sum > 0) share /= sum;
      show(3, j, share);
    }
    for (int64_t d = 0; d < a_.value_depth; ++d) {
      double y = 0;
      for (int64_t j = 0; j < a_.total(); ++j) {
        const double share = scores[static_cast<size_t>(j)];
        if (share == 0) continue;  // what is masked may hold anything
        y += share * at(input_or_none(args, 5), args.inputs[2], a_.v, a_.value_depth, b, kv, j, d);
      }
      store_float(args.outputs[0], a_.y.at(b, h, i) + d, y);
    }
  }

  // Keys or values of all calls, for the next one.
  void keep(const TensorView& past, const TensorView& now, const ops::HeadStrides& strides,
            int64_t columns, const TensorView& out) const {
    if (out.data == nullptr) return;
    int64_t next = 0;
    for (int64_t b = 0; b < a_.batch; ++b) {
      for (int64_t h = 0; h < a_.heads; ++h) {
        for (int64_t row = 0; row < a_.total(); ++row) {
          for (int64_t c = 0; c < columns; ++c) {
            store_float(out, next++, at(past, now, strides, columns, b, h, row, c));
          }
        }
      }
    }
  }

  ops::AttentionShape a_;
  int64_t mode_;
};

}  // namespace

extern const KernelDef kAttention = reference_kernel<Attention>("Attention");

}  // namespace trainyard::kernels::reference
