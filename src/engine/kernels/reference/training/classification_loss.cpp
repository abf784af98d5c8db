// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, and their gradients.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/kernels/reference/layout/axis_lines.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr int64_t kClassAxis = 1;

// What loss and gradient share: scores as lines along the class axis, in the order of the targets.
class Targets {
 public:
  explicit Targets(const NodeView& node)
      : lines(node.input_shape(0), kClassAxis),
        softmax(node.op().starts_with("Softmax")),
        reduction(node.attr_text("reduction", "mean")),
        weights_at_(node.op().ends_with("Grad") ? 3 : 2) {
    if (node.has_attr("ignore_index")) ignored_ = node.attr_int("ignore_index", 0);
  }

  struct Target {
    int64_t label;
    double weight;
  };

  // Nothing for a target that is ignored.
  std::optional<Target> at(const KernelArgs& args, int64_t line) const {
    const int64_t label = element_as_int(args.inputs[1], line);
    if (label == ignored_) return std::nullopt;
    TY_REQUIRE(0 <= label && label < lines.length,
               "target {} at position {} is not one of the {} classes", label, line, lines.length);
    const TensorView weights = input_or_none(args, weights_at_);
    return Target{label, weights.data != nullptr ? float_at(weights, label) : 1.0};
  }

  // log(sum(exp(x))) over the classes, without overflow.
  template <typename T>
  double log_of_sum(const T* x) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < lines.length; ++c) {
      largest = std::max(largest, static_cast<double>(x[c * lines.step]));
    }
    double sum = 0;
    for (int64_t c = 0; c < lines.length; ++c) {
      sum += std::exp(static_cast<double>(x[c * lines.step]) - largest);
    }
    return largest + std::log(sum);
  }

  const AxisLines lines;
  const bool softmax;
  const std::string reduction;

 private:
  size_t weights_at_;
  std::optional<int64_t> ignored_;
};

class ClassificationLoss final : public Kernel {
 public:
  explicit ClassificationLoss(const NodeView& node) : targets_(node) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const AxisLines& lines = targets_.lines;
    T* log_probabilities = output_or_none(args, 1).as<T>();
    double total = 0;
    double total_weight = 0;
    for (int64_t line = 0; line < lines.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines.begin(line);
      const double shift = targets_.softmax ? targets_.log_of_sum<T>(x) : 0.0;
      if (log_probabilities != nullptr) {
        for (int64_t c = 0; c < lines.length; ++c) {
          log_probabilities[lines.begin(line) + c * lines.step] =
              static_cast<T>(static_cast<double>(x[c * lines.step]) - shift);
        }
      }
      double loss = 0;
      if (const auto target = targets_.at(args, line)) {
        loss = target->weight * (shift - static_cast<double>(x[target->label * lines.step]));
        total_weight += target->weight;
      }
      total += loss;
      if (targets_.reduction == "none") args.outputs[0].as<T>()[line] = static_cast<T>(loss);
    }
    if (targets_.reduction == "sum") *args.outputs[0].as<T>() = static_cast<T>(total);
    if (targets_.reduction == "mean") {
      *args.outputs[0].as<T>() = static_cast<T>(total / total_weight);
    }
  }

  Targets targets_;
};

// dx = share * (softmax(x) - 1 at the target), or share * -1 at the target; the share is dloss
// times the weight, of the total weight if the loss is a mean.
class ClassificationLossGrad final : public Kernel {
 public:
  explicit ClassificationLossGrad(const NodeView& node) : targets_(node) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const AxisLines& lines = targets_.lines;
    double total_weight = 0;
    for (int64_t line = 0; line < lines.count; ++line) {
      if (const auto target = targets_.at(args, line)) total_weight += target->weight;
    }
    const bool each = targets_.reduction == "none";
    const double scale = targets_.reduction == "mean" ? 1.0 / total_weight : 1.0;
    for (int64_t line = 0; line < lines.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines.begin(line);
      T* dx = args.outputs[0].as<T>() + lines.begin(line);
      const auto target = targets_.at(args, line);
      const double dloss = float_at(args.inputs[2], each ? line : 0);
      const double share = target ? dloss * target->weight * scale : 0.0;
      const double shift = targets_.softmax ? targets_.log_of_sum<T>(x) : 0.0;
      for (int64_t c = 0; c < lines.length; ++c) {
        const auto score = static_cast<double>(x[c * lines.step]);
        const double probability = targets_.softmax ? std::exp(score - shift) : 0.0;
        const double hit = target && c == target->label ? 1.0 : 0.0;
        dx[c * lines.step] = static_cast<T>(share * (probability - hit));
      }
    }
  }

  Targets targets_;
};

}  // namespace

extern const KernelDef kNegativeLogLikelihoodLoss =
    reference_kernel<ClassificationLoss>("NegativeLogLikelihoodLoss");
extern const KernelDef kNegativeLogLikelihoodLossGrad =
    reference_kernel<ClassificationLossGrad>("NegativeLogLikelihoodLossGrad");
extern const KernelDef kSoftmaxCrossEntropyLoss =
    reference_kernel<ClassificationLoss>("SoftmaxCrossEntropyLoss");
extern const KernelDef kSoftmaxCrossEntropyLossGrad =
    reference_kernel<ClassificationLossGrad>("SoftmaxCrossEntropyLossGrad");

}  // namespace trainyard::kernels::reference
