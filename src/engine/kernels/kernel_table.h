// Which kernels there are for an operator.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/device/device.h"
#include "engine/kernels/api/kernel.h"

namespace trainyard::kernels {

// Fastest first, the reference last. Empty if there is no such operator.
std::span<const KernelDef* const> kernels_of(std::string_view op);
// Those of a device of this kind, which has kernels for some operators alone.
std::span<const KernelDef* const> device_kernels_of(std::string_view op, device::Backend backend);
// The operators that devices of OpenCL and CUDA have kernels for.
std::vector<std::string_view> device_operators();

// Whether it reads and writes at any address that fits the element type; others may count on the
// alignment of our own memory.
bool takes_any_address(const KernelDef& kernel);

}  // namespace trainyard::kernels
