#include "kernels/kernel_table.h"

#include <unordered_map>
#include <vector>

namespace trainyard::kernels {

namespace native {
#define KERNEL(name) extern const KernelDef k##name;
#include "kernels/native_list.def"
#undef KERNEL
}  // namespace native

namespace onednn {
#define KERNEL(name) extern const KernelDef k##name;
#include "kernels/onednn_list.def"
#undef KERNEL
}  // namespace onednn

namespace reference {
#define OP(name) extern const KernelDef k##name;
#define CONTROL_FLOW(name)
#include "ops/op_list.def"
#undef OP
}  // namespace reference

namespace {

// The order of the rows is the order of preference.
constexpr const KernelDef* kTable[] = {
#define KERNEL(name) &native::k##name,
#include "kernels/native_list.def"
#undef KERNEL
#define KERNEL(name) &onednn::k##name,
#include "kernels/onednn_list.def"
#undef KERNEL
// The reference is last and takes every node.
#define OP(name) &reference::k##name,
#define CONTROL_FLOW(name)
#include "ops/op_list.def"
#undef OP
};

using KernelLists = std::unordered_map<std::string_view, std::vector<const KernelDef*>>;

const KernelLists& lists_by_op() {
  static const auto* const kLists = [] {
    auto* lists = new KernelLists;
    for (const KernelDef* kernel : kTable) (*lists)[kernel->op].push_back(kernel);
    return lists;
  }();
  return *kLists;
}

}  // namespace

std::span<const KernelDef* const> kernels_of(std::string_view op) {
  const auto found = lists_by_op().find(op);
  if (found == lists_by_op().end()) return {};
  return found->second;
}

}  // namespace trainyard::kernels
