#include "engine/kernels/kernel_table.h"

#include <unordered_map>
#include <vector>

#include "engine/kernels/torch/torch_kernel.h"

namespace trainyard::kernels {

namespace native {
#define KERNEL(name) extern const KernelDef k##name;
#include "engine/kernels/native_list.def"
#undef KERNEL
}  // namespace native

namespace onednn {
#define KERNEL(name) extern const KernelDef k##name;
#include "engine/kernels/onednn_list.def"
#undef KERNEL
}  // namespace onednn

namespace on_device {
#define KERNEL(name) extern const KernelDef k##name;
#include "engine/kernels/device_list.def"
#undef KERNEL
}  // namespace on_device

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
#include "engine/kernels/native_list.def"
#undef KERNEL
#define KERNEL(name) &onednn::k##name,
#include "engine/kernels/onednn_list.def"
#undef KERNEL
// The reference is last and takes every node.
#define OP(name) &reference::k##name,
#define CONTROL_FLOW(name)
#include "ops/op_list.def"
#undef OP
};

constexpr const KernelDef* kDeviceTable[] = {
#define KERNEL(name) &on_device::k##name,
#include "engine/kernels/device_list.def"
#undef KERNEL
};

using KernelLists = std::unordered_map<std::string_view, std::vector<const KernelDef*>>;

KernelLists* make_lists(std::span<const KernelDef* const> table) {
  auto* lists = new KernelLists;
  for (const KernelDef* kernel : table) (*lists)[kernel->op].push_back(kernel);
  return lists;
}

const KernelLists& device_lists() {
  static const auto* const kLists = make_lists(kDeviceTable);
  return *kLists;
}

std::span<const KernelDef* const> list_of(const KernelLists& lists, std::string_view op) {
  const auto found = lists.find(op);
  if (found == lists.end()) return {};
  return found->second;
}

}  // namespace

std::span<const KernelDef* const> kernels_of(std::string_view op) {
  static const auto* const kLists = make_lists(kTable);
  return list_of(*kLists, op);
}

std::span<const KernelDef* const> device_kernels_of(std::string_view op, device::Backend backend) {
  // Copies from and to the host are the same for all.
  if (backend == device::Backend::kTorch && op != "Reorder") return torch::kernels_of(op);
  return list_of(device_lists(), op);
}

bool takes_any_address(const KernelDef& kernel) {
  return kernel.library == "onednn" || kernel.library == "reference";
}

std::vector<std::string_view> device_operators() {
  std::vector<std::string_view> ops;
  for (const KernelDef* kernel : kDeviceTable) ops.push_back(kernel->op);
  return ops;
}

}  // namespace trainyard::kernels
