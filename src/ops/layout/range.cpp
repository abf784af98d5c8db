// Range: start, start + delta, … up to but not including limit.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr double kMostElements = 0x1.0p62;

int64_t count_of(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (!is_float(start.dtype())) {
    const Whole step = element_as_int(delta, 0);
    TY_REQUIRE(step != 0, "a delta of 0 goes nowhere");
    const Whole span = Whole{element_as_int(limit, 0)} - element_as_int(start, 0);
    const Whole count = (span + step - (step > 0 ? 1 : -1)) / step;
    return static_cast<int64_t>(std::clamp<Whole>(count, 0, static_cast<Whole>(kMostElements)));
  }
  const double step = element_as_double(delta, 0);
  TY_REQUIRE(step != 0, "a delta of 0 goes nowhere");
  const double count =
      std::ceil((element_as_double(limit, 0) - element_as_double(start, 0)) / step);
  TY_REQUIRE(count < kMostElements, "it would have {} elements", count);
  return static_cast<int64_t>(std::max(count, 0.0));
}

std::vector<TensorType> infer_range(const NodeView& node) {
  const DType dtype = node.input_type(0).dtype;
  for (size_t i = 0; i < 3; ++i) {
    const TensorType& x = node.input_type(i);
    TY_REQUIRE(x.dtype == dtype && x.shape.num_elements() == 1,
               "input {} is {}, expected one element of type {}", i, x.to_string(),
               dtype_name(dtype));
  }
  const Tensor* start = node.input_constant(0);
  const Tensor* limit = node.input_constant(1);
  const Tensor* delta = node.input_constant(2);
  const bool known = start != nullptr && limit != nullptr && delta != nullptr;
  return {{dtype, Shape{known ? count_of(*start, *limit, *delta) : Shape::kUnknown}}};
}

Routine routine_range(const NodeView&) {
  return [](Views inputs, Views outputs) {
    for_type(outputs[0].dtype, [&]<typename T>(T) {
      using A = std::conditional_t<kIsFloat<T>, double, Whole>;
      const A start = *inputs[0].as<const T>();
      const A delta = *inputs[2].as<const T>();
      for (int64_t i = 0; i < outputs[0].num_elements(); ++i) {
        outputs[0].as<T>()[i] = static_cast<T>(start + static_cast<A>(i) * delta);
      }
    });
  };
}

}  // namespace

// Inputs: start, limit, delta.
extern const OpDef kRange = {.name = "Range",
                             .kind = OpKind::kDataMovement,
                             .inputs = {3, 3},
                             .infer = infer_range,
                             .routine = routine_range,
                             .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
