// CumSum and CumProd: running sums and products along an axis, with or without the element itself,
// from either end.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCumsumAttributes[] = {{"exclusive", AttrKind::kInt},
                                          {"reverse", AttrKind::kInt}};

std::vector<TensorType> infer_cumsum(const NodeView& node) {
  TY_REQUIRE(node.input_shape(1).num_elements() == 1, "the axis has shape {}, expected a scalar",
             node.input_shape(1).to_string());
  return {node.input_type(0)};
}

Cost cost_cumsum(const NodeView& node) {
  return elementwise_cost(node, 1);
}

Routine routine_cumsum(const NodeView& node) {
  return [product = node.op() == "CumProd", exclusive = node.attr_int("exclusive", 0) != 0,
          reverse = node.attr_int("reverse", 0) != 0](Views inputs, Views outputs) {
    const Shape& shape = *inputs[0].shape;
    const int64_t axis = normalize_axis(element_as_int(inputs[1], 0), shape.rank(), "CumSum");
    const int64_t length = shape[axis];
    const int64_t step = shape.num_elements(axis + 1, shape.rank());
    for_type(inputs[0].dtype, [&]<typename T>(T) {
      using A = std::conditional_t<kIsFloat<T>, double, Whole>;
      for (int64_t i = 0; i < shape.num_elements(0, axis) * step; ++i) {
        const int64_t begin = i / step * length * step + i % step;
        A sum = product ? 1 : 0;
        for (int64_t j = 0; j < length; ++j) {
          const int64_t at = begin + (reverse ? length - 1 - j : j) * step;
          const A before = sum;
          const A value = inputs[0].as<const T>()[at];
          sum = product ? static_cast<A>(static_cast<T>(sum * value)) : sum + value;
          outputs[0].as<T>()[at] = static_cast<T>(exclusive ? before : sum);
        }
      }
    });
  };
}

// Running sums of dy from the other end.
std::vector<ValueId> gradient_cumsum(GradContext& grad) {
  Attributes attributes = grad.attributes();
  attributes["reverse"] = int64_t{grad.node().attr_int("reverse", 0) == 0};
  return {grad.add("CumSum", {grad.dy(), grad.x(1)}, std::move(attributes)), kNoValue};
}

}  // namespace

// Inputs: x, axis.
extern const OpDef kCumSum = {.name = "CumSum",
                              .kind = OpKind::kReduction,
                              .inputs = {2, 2},
                              .attributes = kCumsumAttributes,
                              .infer = infer_cumsum,
                              .cost = cost_cumsum,
                              .routine = routine_cumsum,
                              .gradient = gradient_cumsum};

extern const OpDef kCumProd = {.name = "CumProd",
                               .kind = OpKind::kReduction,
                               .inputs = {2, 2},
                               .attributes = kCumsumAttributes,
                               .infer = infer_cumsum,
                               .cost = cost_cumsum,
                               .routine = routine_cumsum};

}  // namespace trainyard::ops
