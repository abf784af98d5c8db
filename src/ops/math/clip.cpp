// Clip: y = min(max(x, low), high); either bound may be absent.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_clip(const NodeView& node) {
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    TY_REQUIRE(node.input_shape(i).num_elements() == 1, "bound {} has shape {}, expected a scalar",
               i, node.input_shape(i).to_string());
  }
  require_alike(node, {1, 2});
  return {node.input_type(0)};
}

Cost cost_clip(const NodeView& node) {
  return elementwise_cost(node, 2);
}

Routine routine_clip(const NodeView&) {
  return [](Views inputs, Views outputs) {
    for_type(inputs[0].dtype, [&]<typename T>(T) {
      const auto bound = [&](size_t i) {
        return i < inputs.size() ? inputs[i].as<const T>() : nullptr;
      };
      const T* low = bound(1);
      const T* high = bound(2);
      for (int64_t i = 0; i < inputs[0].num_elements(); ++i) {
        T value = inputs[0].as<const T>()[i];
        if (low != nullptr && value < *low) value = *low;
        if (high != nullptr && value > *high) value = *high;
        outputs[0].as<T>()[i] = value;
      }
    });
  };
}

std::vector<ValueId> gradient_clip(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.y(), grad.dy()};
  for (size_t i = 1; i < grad.node().num_inputs(); ++i) inputs.push_back(grad.x(i));
  return {grad.add("ClipGrad", std::move(inputs)), kNoValue, kNoValue};
}

}  // namespace

// Inputs: x, low, high.
extern const OpDef kClip = {.name = "Clip",
                            .kind = OpKind::kActivation,
                            .inputs = {1, 3},
                            .infer = infer_clip,
                            .cost = cost_clip,
                            .routine = routine_clip,
                            .gradient = gradient_clip,
                            .saves = SavedTensors::kOutput,
                            .overwrites = true,
                            .fused_by = FusedBy::kAll};

}  // namespace trainyard::ops
