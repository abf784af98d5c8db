// Dropout: at training time zeroes a share of the elements and scales the rest; otherwise y = x.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kDropoutAttributes[] = {{"seed", AttrKind::kInt}};

std::vector<TensorType> infer_dropout(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  require_floats(node, {});
  require_one_number(node, 1, "the ratio");
  require_one_number(node, 2, "training_mode");
  TY_REQUIRE(!node.has_input(2) || node.input_type(2).dtype == DType::kBool,
             "training_mode is {}, expected bool", node.input_type(2).to_string());
  return {x, {DType::kBool, x.shape}};
}

// Where it does not drop; training has DropoutTraining.
std::vector<ValueId> gradient_dropout(GradContext& grad) {
  const bool may_drop = grad.node().has_input(2);
  const auto mode = may_drop ? grad.node().input_ints(2) : std::vector<int64_t>{0};
  TY_REQUIRE(mode && mode->front() == 0, "the gradient of a Dropout that drops is not defined");
  return {grad.dy(), kNoValue, kNoValue};
}

// Some files keep training_mode and drop nothing.
Movement movement_dropout(const NodeView& node) {
  const auto mode = node.input_ints(2);
  const bool trains = node.has_input(2) && (!mode || mode->empty() || mode->front() != 0);
  const Tensor* ratio = node.has_input(1) ? node.input_constant(1) : nullptr;
  const bool none =
      ratio != nullptr && ratio->num_elements() == 1 && element_as_double(*ratio, 0) == 0;
  return trains && !none ? Movement::kComputed : Movement::kView;
}

}  // namespace

// Inputs: x, ratio, training_mode. Outputs: y, mask.
extern const OpDef kDropout = {.name = "Dropout",
                               .kind = OpKind::kDataMovement,
                               .inputs = {1, 3},
                               .outputs = {1, 2},
                               .attributes = kDropoutAttributes,
                               .infer = infer_dropout,
                               .reach = same_position,
                               .gradient = gradient_dropout,
                               .saves = SavedTensors::kNothing,
                               .movement = movement_dropout,
                               .in_training = "DropoutTraining",
                               .passes = MemoryPasses{0, 2, 2}};

}  // namespace trainyard::ops
