// SoftmaxCrossEntropyLoss and its gradient for rows of scores: each row is read once from memory.
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_cross_entropy(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 2) return "only rows of scores are implemented";
  if (node.input_shape(0).num_elements() == 0) return "there are no scores";
  return "";
}

enum class Reduction : uint8_t { kNone, kSum, kMean };

// Subtracted before exp, so that no exponential overflows.
float largest_of(const float* x, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  int64_t i = 0;
  if (count >= kVector) {
    __m256 most = _mm256_loadu_ps(x);
    for (; i + kVector <= count; i += kVector) most = _mm256_max_ps(most, _mm256_loadu_ps(x + i));
    largest = max_of(most);
  }
  for (; i < count; ++i) largest = std::max(largest, x[i]);
  return largest;
}

// Calls store(i, exponentials) with exp(x - shift), eight from i on or one; returns their sum.
template <typename Store>
double sum_of_exponentials(const float* x, int64_t count, float shift, const Store& store) {
  const __m256 s = _mm256_set1_ps(shift);
  __m256 sum = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    const __m256 e = exp_vector(_mm256_sub_ps(_mm256_loadu_ps(x + i), s));
    sum = _mm256_add_ps(sum, e);
    store.eight(i, e);
  }
  auto total = static_cast<double>(sum_of(sum));
  for (; i < count; ++i) {
    const float e = std::exp(x[i] - shift);
    total += static_cast<double>(e);
    store.one(i, e);
  }
  return total;
}

struct DiscardExponentials {
  static void eight(int64_t, __m256) {}
  static void one(int64_t, float) {}
};

struct StoreExponentials {
  float* to;
  void eight(int64_t i, __m256 e) const { _mm256_storeu_ps(to + i, e); }
  void one(int64_t i, float e) const { to[i] = e; }
};

// Labels and weights, which the loss and its gradient read alike.
class CrossEntropyRows {
 public:
  explicit CrossEntropyRows(const NodeView& node)
      : count(node.input_shape(0)[0]),
        classes(node.input_shape(0)[1]),
        weights_at_(node.op().ends_with("Grad") ? 3 : 2) {
    const std::string how = node.attr_text("reduction", "mean");
    if (how == "none") reduction = Reduction::kNone;
    if (how == "sum") reduction = Reduction::kSum;
    if (node.has_attr("ignore_index")) ignored_ = node.attr_int("ignore_index", 0);
  }

  // The label and the weight of each row; weight 0 where the row is ignored. The sum of weights.
  struct Target {
    int64_t label;
    double weight;
  };
  double read_targets(const KernelArgs& args, Target* targets) const {
    const float* weights = nullptr;
    if (args.inputs.size() > weights_at_) weights = args.inputs[weights_at_].as<float>();
    double total = 0;
    for (int64_t row = 0; row < count; ++row) {
      const int64_t label = element_as_int(args.inputs[1], row);
      if (label == ignored_) {
        targets[row] = {0, 0.0};
        continue;
      }
      TY_REQUIRE(0 <= label && label < classes,
                 "target {} at position {} is not one of the {} classes", label, row, classes);
      targets[row] = {label, weights != nullptr ? double{weights[label]} : 1.0};
      total += targets[row].weight;
    }
    return total;
  }

  int64_t count;
  int64_t classes;
  Reduction reduction = Reduction::kMean;

 private:
  size_t weights_at_;
  std::optional<int64_t> ignored_;
};

class CrossEntropy final : public Kernel {
 public:
  explicit CrossEntropy(const NodeView& node) : rows_(node) {}

  void run(const KernelArgs& args) const override {
    auto* targets = reinterpret_cast<CrossEntropyRows::Target*>(args.scratch.data());
    const double total_weight = rows_.read_targets(args, targets);
    // The weights become losses.
    parallel_for(rows_.count, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        targets[row].weight = run_row(args, row, targets[row]);
      }
    });
    double total = 0;
    for (int64_t row = 0; row < rows_.count; ++row) {
      total += targets[row].weight;
      if (rows_.reduction == Reduction::kNone) {
        args.outputs[0].as<float>()[row] = static_cast<float>(targets[row].weight);
      }
    }
    if (rows_.reduction == Reduction::kNone) return;
    // Without a row that counts this is 0 / 0: NaN, as ONNX's formula gives.
    if (rows_.reduction == Reduction::kMean) total /= total_weight;
    *args.outputs[0].as<float>() = static_cast<float>(total);
  }

  int64_t scratch_bytes() const override {
    return rows_.count * static_cast<int64_t>(sizeof(CrossEntropyRows::Target));
  }

 private:
  double run_row(const KernelArgs& args, int64_t row,
                 const CrossEntropyRows::Target& target) const {
    const float* x = args.inputs[0].as<float>() + row * rows_.classes;
    const float largest = largest_of(x, rows_.classes);
    // log(sum exp(x)): x minus it is the logarithm of the softmax.
    const double shift =
        largest + std::log(sum_of_exponentials(x, rows_.classes, largest, DiscardExponentials{}));
    float* log_softmax = args.outputs.size() > 1 ? args.outputs[1].as<float>() : nullptr;
    if (log_softmax != nullptr) {
      log_softmax += row * rows_.classes;
      for (int64_t c = 0; c < rows_.classes; ++c) {
        log_softmax[c] = static_cast<float>(double{x[c]} - shift);
      }
    }
    if (target.weight == 0.0) return 0.0;
    return target.weight * (shift - double{x[target.label]});
  }

  CrossEntropyRows rows_;
};

class CrossEntropyGrad final : public Kernel {
 public:
  explicit CrossEntropyGrad(const NodeView& node) : rows_(node) {}

  void run(const KernelArgs& args) const override {
    auto* targets = reinterpret_cast<CrossEntropyRows::Target*>(args.scratch.data());
    const double total_weight = rows_.read_targets(args, targets);
    const double scale = rows_.reduction == Reduction::kMean ? 1.0 / total_weight : 1.0;
    const float* dloss = args.inputs[2].as<float>();
    // A scalar gradient serves all rows.
    const int64_t step = rows_.reduction == Reduction::kNone ? 1 : 0;
    parallel_for(rows_.count, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        run_row(args, row, targets[row], double{dloss[row * step]} * scale);
      }
    });
  }

  int64_t scratch_bytes() const override {
    return rows_.count * static_cast<int64_t>(sizeof(CrossEntropyRows::Target));
  }

 private:
  void run_row(const KernelArgs& args, int64_t row, const CrossEntropyRows::Target& target,
               double scale) const {
    const float* x = args.inputs[0].as<float>() + row * rows_.classes;
    float* dx = args.outputs[0].as<float>() + row * rows_.classes;
    if (target.weight == 0.0) {
      std::fill_n(dx, rows_.classes, 0.0F);
      return;
    }
    const double share = scale * target.weight;
    // Exponentials go to where the gradient will be, (softmax - one-hot) * share, so a row is read
    // once.
    const double sum =
        sum_of_exponentials(x, rows_.classes, largest_of(x, rows_.classes), StoreExponentials{dx});
    const auto factor = static_cast<float>(share / sum);
    for (int64_t c = 0; c < rows_.classes; ++c) dx[c] *= factor;
    dx[target.label] -= static_cast<float>(share);
  }

  CrossEntropyRows rows_;
};

template <typename K>
std::unique_ptr<Kernel> create_cross_entropy(const NodeView& node) {
  return std::make_unique<K>(node);
}

}  // namespace

extern const KernelDef kSoftmaxCrossEntropyLoss = {.op = "SoftmaxCrossEntropyLoss",
                                                   .library = "native",
                                                   .refuses = refuses_cross_entropy,
                                                   .create = create_cross_entropy<CrossEntropy>};
extern const KernelDef kSoftmaxCrossEntropyLossGrad = {
    .op = "SoftmaxCrossEntropyLossGrad",
    .library = "native",
    .refuses = refuses_cross_entropy,
    .create = create_cross_entropy<CrossEntropyGrad>};

}  // namespace trainyard::kernels::native
