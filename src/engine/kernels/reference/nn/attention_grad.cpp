// AttentionGrad, one query of one head at a time. With shares p = softmax(scores) and dp = dy v^T:
// dv += p^T dy, ds = p * (dp - sum(p * dp)), dq = ds k * scale, dk += ds^T q * scale.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "ops/nn/attention.h"

namespace trainyard::kernels::reference {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

class AttentionGrad final : public Kernel {
 public:
  explicit AttentionGrad(const NodeView& node) : a_(ops::attention_heads(node)) {}

  void run(const KernelArgs& args) const override {
    std::vector<double> dq(size_of(args.outputs[0]), 0);
    std::vector<double> dk(size_of(args.outputs[1]), 0);
    std::vector<double> dv(size_of(args.outputs[2]), 0);
    for (int64_t b = 0; b < a_.batch; ++b) {
      for (int64_t h = 0; h < a_.query_heads; ++h) {
        for (int64_t i = 0; i < a_.queries; ++i) add_query(args, b, h, i, dq, dk, dv);
      }
    }
    store(dq, args.outputs[0]);
    store(dk, args.outputs[1]);
    store(dv, args.outputs[2]);
  }

 private:
  static size_t size_of(const TensorView& view) {
    return static_cast<size_t>(view.shape->num_elements());
  }
  static void store(const std::vector<double>& from, const TensorView& to) {
    for (size_t i = 0; i < from.size(); ++i) store_float(to, static_cast<int64_t>(i), from[i]);
  }

  double mask_at(const KernelArgs& args, int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (a_.causal && j > i) return kUnseen;
    const TensorView mask = input_or_none(args, 4);
    if (mask.data == nullptr) return 0;
    const ops::MaskStrides strides = ops::mask_strides(*mask.shape);
    const int64_t column = strides.length == 1 && a_.keys != 1 ? 0 : j;
    if (column >= strides.length) return kUnseen;
    const int64_t place = b * strides.batch + h * strides.head + i * strides.row + column;
    if (mask.dtype == DType::kBool) return mask.as<bool>()[place] ? 0 : kUnseen;
    return element_as_double(mask, place);
  }

  // The shares of the keys; all zero for a query that may look at nothing.
  std::vector<double> shares(const KernelArgs& args, int64_t b, int64_t h, int64_t i) const {
    std::vector<double> p(static_cast<size_t>(a_.keys));
    for (int64_t j = 0; j < a_.keys; ++j) {
      const double score =
          dot(args.inputs[0], a_.q.at(b, h, i), args.inputs[1], a_.k.at(b, shared(h), j), a_.depth);
      p[static_cast<size_t>(j)] = score * a_.scale + mask_at(args, b, h, i, j);
    }
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) {
      x = largest == kUnseen ? 0.0 : std::exp(x - largest);
      sum += x;
    }
    for (double& x : p) x = sum > 0 ? x / sum : 0;
    return p;
  }

  void add_query(const KernelArgs& args, int64_t b, int64_t h, int64_t i, std::vector<double>& dq,
                 std::vector<double>& dk, std::vector<double>& dv) const {
    const std::vector<double> p = shares(args, b, h, i);
    std::vector<double> dp(p.size());
    double through = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      if (p[j] == 0) continue;  // what is masked may hold anything
      dp[j] = dot(args.inputs[3], a_.y.at(b, h, i), args.inputs[2],
                  a_.v.at(b, shared(h), static_cast<int64_t>(j)), a_.value_depth);
      through += p[j] * dp[j];
    }
    for (size_t j = 0; j < p.size(); ++j) {
      if (p[j] == 0) continue;
      const double ds = p[j] * (dp[j] - through) * a_.scale;
      const auto key = static_cast<int64_t>(j);
      add(ds, args.inputs[1], a_.k.at(b, shared(h), key), dq, a_.q.at(b, h, i), a_.depth);
      add(ds, args.inputs[0], a_.q.at(b, h, i), dk, a_.k.at(b, shared(h), key), a_.depth);
      add(p[j], args.inputs[3], a_.y.at(b, h, i), dv, a_.v.at(b, shared(h), key), a_.value_depth);
    }
  }

  int64_t shared(int64_t head) const { return head / (a_.query_heads / a_.heads); }

  static double dot(const TensorView& x, int64_t at_x, const TensorView& y, int64_t at_y,
                    int64_t count) {
    double sum = 0;
    for (int64_t d = 0; d < count; ++d) sum += float_at(x, at_x + d) * float_at(y, at_y + d);
    return sum;
  }
  static void add(double factor, const TensorView& from, int64_t at, std::vector<double>& to,
                  int64_t place, int64_t count) {
    for (int64_t d = 0; d < count; ++d) {
      to[static_cast<size_t>(place + d)] += factor * float_at(from, at + d);
    }
  }

  ops::AttentionShape a_;
};

}  // namespace

extern const KernelDef kAttentionGrad = reference_kernel<AttentionGrad>("AttentionGrad");

}  // namespace trainyard::kernels::reference
