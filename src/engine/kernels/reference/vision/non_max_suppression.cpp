// NonMaxSuppression. Its output has as many rows as boxes are kept, so it is created when its
// inputs are known.
#include "ops/vision/non_max_suppression.h"

#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(const NodeView& node) : rules_(ops::suppression_rules(node)) {}

  void run(const KernelArgs& args) const override {
    auto* y = args.outputs[0].as<int64_t>();
    for (const auto& row : ops::select_boxes(args.inputs[0], args.inputs[1], rules_)) {
      for (const int64_t index : row) *y++ = index;
    }
  }

 private:
  ops::SuppressionRules rules_;
};

}  // namespace

extern const KernelDef kNonMaxSuppression =
    reference_kernel<NonMaxSuppression>("NonMaxSuppression");

}  // namespace trainyard::kernels::reference
