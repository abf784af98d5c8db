// Functions of one number by the codes that src/engine/device/text/scalar.cl knows them by.
#pragma once

#include <optional>
#include <string_view>

#include "engine/kernels/device/device_kernel.h"

namespace trainyard::kernels::on_device {

// 0 for no function (""); no value if the device does not know it.
std::optional<int64_t> scalar_code(std::string_view op);

// Names code, alpha and beta of the activation that a fused node applies.
void give_activation(DeviceKernel& kernel, const NodeView& node);
// Does the device know it?
bool knows_activation(const NodeView& node);

}  // namespace trainyard::kernels::on_device
