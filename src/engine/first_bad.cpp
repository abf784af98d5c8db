#include "engine/first_bad.h"

#include <algorithm>
#include <cmath>

namespace trainyard::runtime {
namespace {

bool is_finite(const Tensor& tensor) {
  if (tensor.empty() || tensor.dtype() != DType::kF32) return true;
  const std::span<const float> values = tensor.values<float>();
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace

std::string find_first_bad(ExecutionContext& context, size_t begin, size_t end) {
  std::string first;
  context.set_observer([&](const StepView& step) {
    for (size_t i = 0; first.empty() && i < step.num_outputs(); ++i) {
      if (!is_finite(step.output(i))) first = step.info().node;
    }
  });
  // Other workers need not have the same trouble: this one looks for it alone.
  context.set_alone(true);
  context.run_steps(begin, end);
  context.set_alone(false);
  context.set_observer(nullptr);
  return first;
}

}  // namespace trainyard::runtime
