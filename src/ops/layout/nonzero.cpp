// NonZero: the indices of the elements that are not zero, one column each, in row-major order.
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

// The places of the elements that are not zero.
std::vector<int64_t> nonzero_places(const TensorView& x) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (element_as_double(x, i) != 0) places.push_back(i);
  }
  return places;
}

std::vector<TensorType> infer_nonzero(const NodeView& node) {
  const Tensor* x = node.input_constant(0);
  const int64_t count =
      x == nullptr ? Shape::kUnknown : static_cast<int64_t>(nonzero_places(x->view()).size());
  return {{DType::kI64, Shape{node.input_shape(0).rank(), count}}};
}

Routine routine_nonzero(const NodeView&) {
  return [](Views inputs, Views outputs) {
    const Shape& shape = *inputs[0].shape;
    const std::vector<int64_t> places = nonzero_places(inputs[0]);
    const std::vector<int64_t> strides = shape.strides();
    auto* to = outputs[0].as<int64_t>();
    for (int64_t d = 0; d < shape.rank(); ++d) {
      for (const int64_t place : places) {
        *to++ = place / strides[static_cast<size_t>(d)] % shape[d];
      }
    }
  };
}

}  // namespace

extern const OpDef kNonZero = {.name = "NonZero",
                               .kind = OpKind::kDataMovement,
                               .infer = infer_nonzero,
                               .routine = routine_nonzero,
                               .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
