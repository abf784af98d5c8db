// Nodes computed by libtorch, through the plugin that is linked to it.
#pragma once

#include <span>

#include "engine/kernels/api/kernel.h"

namespace trainyard::kernels::torch {

// Those of an operator; empty without the plugin, or where it has none.
std::span<const KernelDef* const> kernels_of(std::string_view op);

}  // namespace trainyard::kernels::torch
