// LinearAttention, row by row.
#include "ops/nn/linear_attention.h"

#include <cmath>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class LinearAttention final : public Kernel {
 public:
  explicit LinearAttention(const NodeView& node)
      : a_(ops::linear_attention_shape(node)),
        delta_(node.attr_text("update_rule", "gated_delta").ends_with("delta")) {}

  void run(const KernelArgs& args) const override {
    for (int64_t b = 0; b < a_.batch; ++b) {
      for (int64_t h = 0; h < a_.heads; ++h) run_head(args, b, h);
    }
  }

 private:
  void run_head(const KernelArgs& args, int64_t b, int64_t h) const {
    std::vector<double> state(static_cast<size_t>(a_.depth * a_.value_depth), 0.0);
    const auto at = [&](int64_t i, int64_t j) -> double& {
      return state[static_cast<size_t>(i * a_.value_depth + j)];
    };
    const int64_t first = (b * a_.heads + h) * a_.depth * a_.value_depth;
    const TensorView past = input_or_none(args, 3);
    for (size_t i = 0; past.data != nullptr && i < state.size(); ++i) {
      state[i] = float_at(past, first + static_cast<int64_t>(i));
    }
    for (int64_t row = 0; row < a_.queries; ++row) {
      for (int64_t i = 0; i < a_.depth; ++i) {
        const double kept = decay(args, b, h, row, i);
        for (int64_t j = 0; j < a_.value_depth; ++j) at(i, j) *= kept;
      }
      const auto key = [&](int64_t i) { return float_at(args.inputs[1], a_.k.at(b, h, row) + i); };
      for (int64_t j = 0; j < a_.value_depth; ++j) {
        double write = float_at(args.inputs[2], a_.v.at(b, h, row) + j);
        if (delta_) {
          for (int64_t i = 0; i < a_.depth; ++i) write -= key(i) * at(i, j);
          write *= beta(args, b, h, row);
        }
        for (int64_t i = 0; i < a_.depth; ++i) at(i, j) += key(i) * write;
      }
      read(args, b, h, row, state);
    }
    const TensorView out = output_or_none(args, 1);
    for (size_t i = 0; out.data != nullptr && i < state.size(); ++i) {
      store_float(out, first + static_cast<int64_t>(i), state[i]);
    }
  }

  // All heads of queries that share this one of keys.
  void read(const KernelArgs& args, int64_t b, int64_t h, int64_t row,
            const std::vector<double>& state) const {
    const int64_t group = a_.query_heads / a_.heads;
    for (int64_t q = h * group; q < (h + 1) * group; ++q) {
      for (int64_t j = 0; j < a_.value_depth; ++j) {
        double y = 0;
        for (int64_t i = 0; i < a_.depth; ++i) {
          y += float_at(args.inputs[0], a_.q.at(b, q, row) + i) *
               state[static_cast<size_t>(i * a_.value_depth + j)];
        }
        store_float(args.outputs[0], a_.y.at(b, q, row) + j, y * a_.scale);
      }
    }
  }

  double decay(const KernelArgs& args, int64_t b, int64_t h, int64_t row, int64_t column) const {
    const TensorView decays = input_or_none(args, 4);
    if (decays.data == nullptr) return 1;
    const int64_t width = (*decays.shape)[2];
    const int64_t at = width == a_.heads ? h : h * a_.depth + column;
    return std::exp(float_at(decays, (b * a_.queries + row) * width + at));
  }

  double beta(const KernelArgs& args, int64_t b, int64_t h, int64_t row) const {
    const TensorView betas = input_or_none(args, 5);
    if (betas.data == nullptr) return 1;
    const int64_t width = (*betas.shape)[2];
    return float_at(betas, (b * a_.queries + row) * width + (width == 1 ? 0 : h));
  }

  ops::AttentionShape a_;
  bool delta_;
};

}  // namespace

extern const KernelDef kLinearAttention = reference_kernel<LinearAttention>("LinearAttention");

}  // namespace trainyard::kernels::reference
