#include "engine/kernels/torch/plugin/accelerator.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace trainyard::torch_plugin {
namespace {

// Through what libtorch says of all its devices: no header of CUDA is needed, and the same code
// serves ROCm, whose devices libtorch calls "cuda" too.
int64_t count_of(at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::VirtualGuardImpl(type).deviceCount();
}

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu"};
  const int64_t gpus = count_of(at::DeviceType::CUDA);
  for (int64_t i = 0; i < gpus; ++i) names.push_back("cuda:" + std::to_string(i));
  if (count_of(at::DeviceType::MPS) > 0) names.emplace_back("mps");
  return names;
}

void finish_device(const at::Device& device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

void allow_tf32(const at::Device& device, bool allow) {
  TORCH_CHECK(!allow || device.is_cuda(), "only NVIDIA's GPUs have tf32, not ", device.str());
  at::globalContext().setAllowTF32CuBLAS(allow);
  at::globalContext().setAllowTF32CuDNN(allow);
}

}  // namespace trainyard::torch_plugin
