#include "engine/kernels/device/scalar_codes.h"

#include <algorithm>
#include <array>

#include "ops/math/activation.h"

namespace trainyard::kernels::on_device {
namespace {

// A function's code is its position.
constexpr std::array<std::string_view, 18> kScalars = {
    "",    "Relu", "Tanh", "Sigmoid", "Clip", "LeakyRelu",  "HardSigmoid", "HardSwish", "Elu",
    "Exp", "Log",  "Sqrt", "Neg",     "Abs",  "Reciprocal", "Softplus",    "Floor",     "Ceil"};

}  // namespace

std::optional<int64_t> scalar_code(std::string_view op) {
  const auto found = std::find(kScalars.begin(), kScalars.end(), op);
  if (found == kScalars.end()) return std::nullopt;
  return found - kScalars.begin();
}

void give_activation(DeviceKernel& kernel, const NodeView& node) {
  const ops::ActivationSpec activation = ops::activation_of(node);
  kernel.integer(*scalar_code(activation.op)).number(activation.alpha).number(activation.beta);
}

bool knows_activation(const NodeView& node) {
  return scalar_code(ops::activation_of(node).op).has_value();
}

}  // namespace trainyard::kernels::on_device
