// ArgMax and ArgMin: where along `axis` the largest or smallest element stands.
#include "base/error.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kArgExtremeAttributes[] = {
    {"axis", AttrKind::kInt}, {"keepdims", AttrKind::kInt}, {"select_last_index", AttrKind::kInt}};

int64_t axis_of_arg_extreme(const NodeView& node) {
  return normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), node.op());
}

std::vector<TensorType> infer_arg_extreme(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const int64_t axis = axis_of_arg_extreme(node);
  TY_REQUIRE(x[axis] != 0, "axis {} of shape {} has no elements", axis, x.to_string());
  std::vector<int64_t> dims = x.vector();
  if (node.attr_int("keepdims", 1) != 0) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  return {{DType::kI64, Shape(std::move(dims))}};
}

Cost cost_arg_extreme(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = node.input_shape(0).num_elements();
  return cost;
}

Routine routine_arg_extreme(const NodeView& node) {
  return [axis = axis_of_arg_extreme(node), largest = node.op() == "ArgMax",
          last = node.attr_int("select_last_index", 0) != 0](Views inputs, Views outputs) {
    const TensorView& x = inputs[0];
    const int64_t length = (*x.shape)[axis];
    const int64_t step = x.shape->num_elements(axis + 1, x.shape->rank());
    for_type(x.dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < outputs[0].num_elements(); ++i) {
        const T* line = x.as<const T>() + i / step * length * step + i % step;
        int64_t best = 0;
        for (int64_t j = 1; j < length; ++j) {
          const T value = line[j * step];
          const T so_far = line[best * step];
          const bool better = largest ? value > so_far : value < so_far;
          if (better || (last && value == so_far)) best = j;
        }
        outputs[0].as<int64_t>()[i] = best;
      }
    });
  };
}

constexpr OpDef arg_extreme(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kReduction,
          .attributes = kArgExtremeAttributes,
          .infer = infer_arg_extreme,
          .cost = cost_arg_extreme,
          .routine = routine_arg_extreme,
          .no_gradient = NoGradient::kNever};
}

}  // namespace

extern const OpDef kArgMax = arg_extreme("ArgMax");
extern const OpDef kArgMin = arg_extreme("ArgMin");

}  // namespace trainyard::ops
