// AllReduceStart and AllReduceWait: the sum of some tensors over all workers of a job, as two
// nodes, so that a graph can compute while it is under way. One bucket of tensors travels as one
// message. The runtime carries them out where there are several workers; alone, the sum is the
// tensor itself. What Start gives out may be used by its Wait alone.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAllReduceAttributes[] = {{"bucket", AttrKind::kInt, true}};

std::vector<TensorType> infer_all_reduce(const NodeView& node) {
  TY_REQUIRE(node.num_outputs() == node.num_inputs(), "it has {} outputs, expected {}",
             node.num_outputs(), node.num_inputs());
  std::vector<TensorType> types;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    TY_REQUIRE(node.input_type(i).dtype == DType::kF32, "input {} is {}, expected f32", i,
               node.input_type(i).to_string());
    types.push_back(node.input_type(i));
  }
  return types;
}

Routine alone(const NodeView& /*node*/) {
  return [](Views inputs, Views outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      copy_elements(inputs.subspan(i, 1), outputs.subspan(i, 1));
    }
  };
}

// The additions are made elsewhere and shared among the workers.
Cost wait_cost(const NodeView& /*node*/) {
  return {};
}

}  // namespace

extern const OpDef kAllReduceStart = {.name = "AllReduceStart",
                                      .kind = OpKind::kDataMovement,
                                      .inputs = {1, Arity::kMany},
                                      .outputs = {1, Arity::kMany},
                                      .attributes = kAllReduceAttributes,
                                      .infer = infer_all_reduce,
                                      .routine = alone};
extern const OpDef kAllReduceWait = {.name = "AllReduceWait",
                                     .kind = OpKind::kDataMovement,
                                     .inputs = {1, Arity::kMany},
                                     .outputs = {1, Arity::kMany},
                                     .attributes = kAllReduceAttributes,
                                     .infer = infer_all_reduce,
                                     .cost = wait_cost,
                                     .routine = alone};

}  // namespace trainyard::ops
