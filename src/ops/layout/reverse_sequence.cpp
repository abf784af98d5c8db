// ReverseSequence: the first sequence_lens[b] steps of each batch entry, backwards.
#include <cstring>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kReverseSequenceAttributes[] = {{"batch_axis", AttrKind::kInt},
                                                   {"time_axis", AttrKind::kInt}};

std::vector<TensorType> infer_reverse_sequence(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const int64_t batch_axis = node.attr_int("batch_axis", 1);
  const int64_t time_axis = node.attr_int("time_axis", 0);
  TY_REQUIRE((batch_axis == 0 && time_axis == 1) || (batch_axis == 1 && time_axis == 0),
             "batch_axis is {} and time_axis {}, expected 0 and 1 or 1 and 0", batch_axis,
             time_axis);
  TY_REQUIRE(x.shape.rank() >= 2, "shape {} has no batch of sequences", x.shape.to_string());
  TY_REQUIRE(node.input_shape(1).num_elements() == x.shape[batch_axis],
             "{} sequence lengths for a batch of {}", node.input_shape(1).num_elements(),
             x.shape[batch_axis]);
  return {x};
}

Routine routine_reverse_sequence(const NodeView& node) {
  return [batch_first = node.attr_int("batch_axis", 1) == 0](Views inputs, Views outputs) {
    const Shape& shape = *inputs[0].shape;
    const int64_t batches = shape[batch_first ? 0 : 1];
    const int64_t steps = shape[batch_first ? 1 : 0];
    const int64_t bytes = shape.num_elements(2, shape.rank()) * dtype_size(inputs[0].dtype);
    const auto place = [&](int64_t batch, int64_t step) {
      return (batch_first ? batch * steps + step : step * batches + batch) * bytes;
    };
    for (int64_t b = 0; b < batches; ++b) {
      const int64_t length = element_as_int(inputs[1], b);
      TY_REQUIRE(0 <= length && length <= steps, "sequence length {} of {} steps", length, steps);
      for (int64_t t = 0; t < steps; ++t) {
        std::memcpy(outputs[0].as<std::byte>() + place(b, t),
                    inputs[0].as<const std::byte>() + place(b, t < length ? length - 1 - t : t),
                    static_cast<size_t>(bytes));
      }
    }
  };
}

// It undoes itself.
std::vector<ValueId> gradient_reverse_sequence(GradContext& grad) {
  return {grad.add("ReverseSequence", {grad.dy(), grad.x(1)}, grad.attributes()), kNoValue};
}

}  // namespace

// Inputs: x, sequence_lens.
extern const OpDef kReverseSequence = {.name = "ReverseSequence",
                                       .kind = OpKind::kDataMovement,
                                       .inputs = {2, 2},
                                       .attributes = kReverseSequenceAttributes,
                                       .infer = infer_reverse_sequence,
                                       .routine = routine_reverse_sequence,
                                       .gradient = gradient_reverse_sequence,
                                       .movement = always_moved};

}  // namespace trainyard::ops
