#include "analysis/saved_for_backward.h"

#include <algorithm>
#include <string_view>

#include "analysis/storage.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

// What the gradient of an operator needs beside the gradient that comes in: what training has to
// keep from the forward pass.
enum class Rule : uint8_t {
  kOtherFactors,
  kInputsAndOutput,
  kOutput,
  kInput,
  kInputAndStatistics,
  kNothing,
};

struct Row {
  std::string_view op;
  Rule rule;
};

constexpr Row kRows[] = {
    {"Add", Rule::kNothing},
    {"AveragePool", Rule::kNothing},
    {"BatchNormalization", Rule::kInputAndStatistics},
    {"Cast", Rule::kNothing},
    {"Celu", Rule::kOutput},
    {"Clip", Rule::kOutput},
    {"Concat", Rule::kNothing},
    {"Conv", Rule::kOtherFactors},
    {"ConvTranspose", Rule::kOtherFactors},
    {"Dropout", Rule::kNothing},
    {"Elu", Rule::kOutput},
    {"Exp", Rule::kOutput},
    {"Expand", Rule::kNothing},
    {"Gemm", Rule::kOtherFactors},
    {"GlobalAveragePool", Rule::kNothing},
    {"GlobalMaxPool", Rule::kInput},
    {"HardSigmoid", Rule::kOutput},
    {"InstanceNormalization", Rule::kInput},
    {"LRN", Rule::kInput},
    {"LayerNormalization", Rule::kInput},
    {"LeakyRelu", Rule::kOutput},
    {"LogSoftmax", Rule::kOutput},
    {"MatMul", Rule::kOtherFactors},
    {"MaxPool", Rule::kInput},
    {"Mul", Rule::kOtherFactors},
    {"Neg", Rule::kNothing},
    {"Pad", Rule::kNothing},
    {"Reciprocal", Rule::kOutput},
    {"ReduceMean", Rule::kNothing},
    {"ReduceSum", Rule::kNothing},
    {"Relu", Rule::kOutput},
    {"Selu", Rule::kOutput},
    {"Sigmoid", Rule::kOutput},
    {"Slice", Rule::kNothing},
    {"Softmax", Rule::kOutput},
    {"Softplus", Rule::kOutput},
    {"Split", Rule::kNothing},
    {"Sqrt", Rule::kOutput},
    {"Sub", Rule::kNothing},
    {"Sum", Rule::kNothing},
    {"Tanh", Rule::kOutput},
    {"ThresholdedRelu", Rule::kOutput},
    {"Transpose", Rule::kNothing},
};

// Unknown operators keep everything, so that memory is never predicted too small.
Rule rule_of(const NodeView& node) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const Row& r) { return r.op == node.op(); });
  if (row != std::end(kRows)) return row->rule;
  if (is_view(node)) return Rule::kNothing;
  return ops::find_unary(node.op()) != nullptr ? Rule::kInput : Rule::kInputsAndOutput;
}

class Collector {
 public:
  Collector(const NodeView& node, const std::vector<bool>& trained)
      : node_(node), trained_(trained) {}

  // Parameters are kept in any case, and a value once, however many gradients read it.
  void keep(ValueId id) {
    if (!id.valid() || node_.graph().value(id).kind == ValueKind::kInitializer) return;
    if (std::find(saved_.values.begin(), saved_.values.end(), id) == saved_.values.end()) {
      saved_.values.push_back(id);
    }
  }

  // The gradient of one factor is made from the other.
  void keep_other_factors() {
    if (is_trained(node_.input(0))) keep(node_.input(1));
    if (is_trained(node_.input(1))) keep(node_.input(0));
  }

  void keep_inputs_and_output() {
    for (const ValueId id : node_.node().inputs) keep(id);
    for (const ValueId id : node_.node().outputs) keep(id);
  }

  void keep_bytes(int64_t bytes) { saved_.extra_bytes += bytes; }

  SavedForBackward take() { return std::move(saved_); }

 private:
  bool is_trained(ValueId id) const { return trained_[static_cast<size_t>(id.index)]; }

  const NodeView& node_;
  const std::vector<bool>& trained_;
  SavedForBackward saved_;
};

}  // namespace

SavedForBackward saved_for_backward(const NodeView& node, const std::vector<bool>& trained) {
  Collector collector(node, trained);
  switch (rule_of(node)) {
    case Rule::kOtherFactors:
      collector.keep_other_factors();
      break;
    case Rule::kInputsAndOutput:
      collector.keep_inputs_and_output();
      break;
    case Rule::kOutput:
      collector.keep(node.output(0));
      break;
    case Rule::kInput:
      collector.keep(node.input(0));
      break;
    case Rule::kInputAndStatistics:
      collector.keep(node.input(0));
      // Mean and deviation of the batch, of the size of the scale.
      collector.keep_bytes(2 * node.input_type(1).num_bytes());
      break;
    case Rule::kNothing:
      break;
  }
  return collector.take();
}

}  // namespace trainyard::analysis
