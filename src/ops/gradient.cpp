#include "ops/gradient.h"

#include "base/error.h"

namespace trainyard::ops {

ValueId GradContext::scalar(double value) {
  for (const ValueId dy : output_grads_) {
    if (!dy.valid()) continue;
    return builder_.constant("scalar", cast(Tensor::scalar(value), builder_.type(dy).dtype));
  }
  TY_CHECK(false, "no gradient flows into node '{}'", node().name());
}

ValueId GradContext::sum_to(ValueId value, const Shape& to) {
  const Shape from = builder_.shape(value);
  if (from == to) return value;
  std::vector<int64_t> axes;
  const int64_t extra = from.rank() - to.rank();
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (i < extra || (to[i - extra] == 1 && from[i] != 1)) axes.push_back(i);
  }
  const ValueId sum = add("ReduceSum", {value, ints(axes)}, {{"keepdims", int64_t{0}}});
  return builder_.shape(sum) == to ? sum : reshape(sum, to);
}

}  // namespace trainyard::ops
