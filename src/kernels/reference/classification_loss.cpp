// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/reference/axis_lines.h"
#include "kernels/reference/operands.h"
#include "kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr int64_t kClassAxis = 1;

class ClassificationLoss final : public Kernel {
 public:
  explicit ClassificationLoss(const NodeView& node)
      : lines_(node.input_shape(0), kClassAxis),
        softmax_(node.op() == "SoftmaxCrossEntropyLoss"),
        reduction_(node.attr_text("reduction", "mean")) {
    if (node.has_attr("ignore_index")) ignored_ = node.attr_int("ignore_index", 0);
  }

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    T* log_probabilities = output_or_none(args, 1).as<T>();
    double total = 0;
    double total_weight = 0;
    // Lines along the class axis are in the order of the targets.
    for (int64_t line = 0; line < lines_.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines_.begin(line);
      const double shift = softmax_ ? log_of_sum<T>(x) : 0.0;
      if (log_probabilities != nullptr) {
        for (int64_t c = 0; c < lines_.length; ++c) {
          log_probabilities[lines_.begin(line) + c * lines_.step] =
              static_cast<T>(static_cast<double>(x[c * lines_.step]) - shift);
        }
      }
      const std::optional<int64_t> target = target_of(args.inputs[1], line);
      double loss = 0;
      if (target) {
        const TensorView weights = input_or_none(args, 2);
        const double weight = weights.data != nullptr ? float_at(weights, *target) : 1.0;
        loss = weight * (shift - static_cast<double>(x[*target * lines_.step]));
        total_weight += weight;
      }
      total += loss;
      if (reduction_ == "none") args.outputs[0].as<T>()[line] = static_cast<T>(loss);
    }
    if (reduction_ == "sum") *args.outputs[0].as<T>() = static_cast<T>(total);
    if (reduction_ == "mean") *args.outputs[0].as<T>() = static_cast<T>(total / total_weight);
  }

  // log(sum(exp(x))) over the classes, without overflow.
  template <typename T>
  double log_of_sum(const T* x) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < lines_.length; ++c) {
      largest = std::max(largest, static_cast<double>(x[c * lines_.step]));
    }
    double sum = 0;
    for (int64_t c = 0; c < lines_.length; ++c) {
      sum += std::exp(static_cast<double>(x[c * lines_.step]) - largest);
    }
    return largest + std::log(sum);
  }

  // Nothing for a target that is ignored.
  std::optional<int64_t> target_of(const TensorView& targets, int64_t i) const {
    const int64_t target =
        targets.dtype == DType::kI32 ? int64_t{targets.as<int32_t>()[i]} : targets.as<int64_t>()[i];
    if (target == ignored_) return std::nullopt;
    TY_REQUIRE(0 <= target && target < lines_.length,
               "target {} at position {} is not one of the {} classes", target, i, lines_.length);
    return target;
  }

  AxisLines lines_;
  bool softmax_;
  std::string reduction_;
  std::optional<int64_t> ignored_;
};

}  // namespace

extern const KernelDef kNegativeLogLikelihoodLoss =
    reference_kernel<ClassificationLoss>("NegativeLogLikelihoodLoss");
extern const KernelDef kSoftmaxCrossEntropyLoss =
    reference_kernel<ClassificationLoss>("SoftmaxCrossEntropyLoss");

}  // namespace trainyard::kernels::reference
