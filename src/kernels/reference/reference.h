// What the reference kernels share. They are plain loops over row-major data with double
// accumulation: the meaning of each operator, slow and obvious. They never refuse.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "kernels/kernel.h"
#include "tensor/dispatch.h"

namespace trainyard::kernels::reference {

template <typename K>
std::unique_ptr<Kernel> create_kernel(const NodeView& node) {
  return std::make_unique<K>(node);
}

template <typename K>
constexpr KernelDef reference_kernel(std::string_view op) {
  return {.op = op, .library = "reference", .create = create_kernel<K>};
}

}  // namespace trainyard::kernels::reference
