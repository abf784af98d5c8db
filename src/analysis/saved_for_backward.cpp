#include "analysis/saved_for_backward.h"

#include <algorithm>

#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

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
  switch (ops::op_of(node).saves) {
    case ops::SavedTensors::kOtherFactor:
      collector.keep_other_factors();
      break;
    case ops::SavedTensors::kInputsAndOutputs:
      collector.keep_inputs_and_output();
      break;
    case ops::SavedTensors::kOutput:
      collector.keep(node.output(0));
      break;
    case ops::SavedTensors::kInput:
      collector.keep(node.input(0));
      break;
    case ops::SavedTensors::kInputAndStatistics:
      collector.keep(node.input(0));
      // Mean and deviation of the batch, of the size of the scale.
      collector.keep_bytes(2 * node.input_type(1).num_bytes());
      break;
    case ops::SavedTensors::kNothing:
      break;
  }
  return collector.take();
}

}  // namespace trainyard::analysis
