// Which kernels there are for an operator.
#pragma once

#include <span>
#include <string_view>

#include "kernels/api/kernel.h"

namespace trainyard::kernels {

// Fastest first, the reference last. Empty if there is no such operator.
std::span<const KernelDef* const> kernels_of(std::string_view op);

}  // namespace trainyard::kernels
