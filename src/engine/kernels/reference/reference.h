// What the reference kernels share. They are plain loops over row-major data with double
// accumulation: the meaning of each operator, slow and obvious. They never refuse a node, and may
// allocate while they run.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "engine/kernels/api/kernel.h"
#include "ops/routine.h"
#include "tensor/dispatch.h"

namespace trainyard::kernels::reference {

using CreateKernel = std::unique_ptr<Kernel> (*)(const NodeView&);

// create(node), or, where a type of the node is not static, a kernel that makes up its mind in
// each run: there `create` sees the shapes of that run and all inputs as constants. So no kernel
// ever meets an unknown dimension.
std::unique_ptr<Kernel> create_for_shapes(const NodeView& node, CreateKernel create);

std::unique_ptr<Kernel> create_from_routine(ops::Routine routine);

// A kernel class with a constructor that takes the node.
template <typename K>
constexpr KernelDef reference_kernel(std::string_view op) {
  return {.op = op, .library = "reference", .create = [](const NodeView& node) {
            return create_for_shapes(node, [](const NodeView& known) -> std::unique_ptr<Kernel> {
              return std::make_unique<K>(known);
            });
          }};
}

// A function that makes a routine from the node.
template <ops::Routine (*kMake)(const NodeView&)>
constexpr KernelDef routine_kernel(std::string_view op) {
  return {.op = op, .library = "reference", .create = [](const NodeView& node) {
            return create_for_shapes(
                node, [](const NodeView& known) { return create_from_routine(kMake(known)); });
          }};
}

}  // namespace trainyard::kernels::reference
