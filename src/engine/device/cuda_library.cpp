#include "engine/device/cuda_library.h"

#include <dlfcn.h>
#include <initializer_list>
#include <string_view>

#include "base/error.h"

namespace trainyard::device::cuda {
namespace {

template <typename Function>
bool bind_cuda(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

// Names with a suffix are the versions that <cuda.h> maps the plain names to; the plain symbols
// have other parameters.
bool bind_driver(void* handle, Library& cu) {
  return bind_cuda(handle, "cuInit", cu.init) &&
         bind_cuda(handle, "cuDriverGetVersion", cu.driver_version) &&
         bind_cuda(handle, "cuDeviceGetCount", cu.device_count) &&
         bind_cuda(handle, "cuDeviceGet", cu.get_device) &&
         bind_cuda(handle, "cuDeviceGetName", cu.device_name) &&
         bind_cuda(handle, "cuDeviceTotalMem_v2", cu.device_memory) &&
         bind_cuda(handle, "cuDeviceGetAttribute", cu.attribute) &&
         bind_cuda(handle, "cuDevicePrimaryCtxRetain", cu.retain_context) &&
         bind_cuda(handle, "cuDevicePrimaryCtxRelease_v2", cu.release_context) &&
         bind_cuda(handle, "cuCtxSetCurrent", cu.use_context) &&
         bind_cuda(handle, "cuMemAlloc_v2", cu.alloc) &&
         bind_cuda(handle, "cuMemAllocManaged", cu.alloc_managed) &&
         bind_cuda(handle, "cuMemPrefetchAsync", cu.prefetch) &&
         bind_cuda(handle, "cuMemFree_v2", cu.free) &&
         bind_cuda(handle, "cuMemcpyHtoDAsync_v2", cu.to_device) &&
         bind_cuda(handle, "cuMemcpyDtoHAsync_v2", cu.to_host) &&
         bind_cuda(handle, "cuStreamCreate", cu.create_stream) &&
         bind_cuda(handle, "cuStreamDestroy_v2", cu.destroy_stream) &&
         bind_cuda(handle, "cuStreamSynchronize", cu.synchronize) &&
         bind_cuda(handle, "cuEventCreate", cu.create_event) &&
         bind_cuda(handle, "cuEventRecord", cu.record) &&
         bind_cuda(handle, "cuEventSynchronize", cu.wait_event) &&
         bind_cuda(handle, "cuEventElapsedTime", cu.elapsed) &&
         bind_cuda(handle, "cuEventDestroy_v2", cu.destroy_event) &&
         bind_cuda(handle, "cuModuleLoadData", cu.load_module) &&
         bind_cuda(handle, "cuModuleUnload", cu.unload_module) &&
         bind_cuda(handle, "cuModuleGetFunction", cu.get_function) &&
         bind_cuda(handle, "cuLaunchKernel", cu.launch) &&
         bind_cuda(handle, "cuGetErrorName", cu.error_name) &&
         bind_cuda(handle, "cuGetErrorString", cu.error_text);
}

bool bind_compiler(void* handle, Compiler& rtc) {
  const bool all = bind_cuda(handle, "nvrtcVersion", rtc.version) &&
                   bind_cuda(handle, "nvrtcCreateProgram", rtc.create) &&
                   bind_cuda(handle, "nvrtcCompileProgram", rtc.compile) &&
                   bind_cuda(handle, "nvrtcGetPTXSize", rtc.result_size) &&
                   bind_cuda(handle, "nvrtcGetPTX", rtc.result) &&
                   bind_cuda(handle, "nvrtcGetProgramLogSize", rtc.log_size) &&
                   bind_cuda(handle, "nvrtcGetProgramLog", rtc.log) &&
                   bind_cuda(handle, "nvrtcDestroyProgram", rtc.destroy);
  // Added in CUDA 11.2, so they may be missing: see nvrtc_architectures.
  bind_cuda(handle, "nvrtcGetNumSupportedArchs", rtc.num_architectures);
  bind_cuda(handle, "nvrtcGetSupportedArchs", rtc.architectures);
  return all;
}

// The first of the names that the loader finds. Handles are never closed: functions are kept for
// the life of the process.
void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

// What to do about codes of CUresult that users meet; others speak for themselves.
std::string_view meaning_of(int32_t code) {
  switch (code) {
    case 2:
      return "; try fewer elements or a smaller batch";
    case 100:
      return "; 'nvidia-smi' shows whether the driver sees a GPU";
    case 46:
    case 700:
    case 714:
    case 719:
    case 999:
      return "; the device is lost to this process: start again, and see 'nvidia-smi' if it stays "
             "so";
    case 209:
    case 218:
    case 222:
    case 803:
      return "; driver and NVRTC do not match: install a newer driver or an older CUDA";
    default:
      return "";
  }
}

}  // namespace

// Loaded at the first call, once for all threads; null on machines without a driver.
const Library* library() {
  static Library functions = {};
  static const bool kThere = [] {
    void* handle = open_first({"libcuda.so.1"});
    return handle != nullptr && bind_driver(handle, functions);
  }();
  return kThere ? &functions : nullptr;
}

const Compiler* compiler() {
  static Compiler functions = {};
  static const bool kThere = [] {
    void* handle = open_first(
        {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1",
         "libnvrtc.so.11.0", "libnvrtc.so.10.2", "/usr/local/cuda/lib64/libnvrtc.so",
         "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.12"});
    return handle != nullptr && bind_compiler(handle, functions);
  }();
  return kThere ? &functions : nullptr;
}

// Only after library() was found not to be null.
void check(int32_t code, const char* call) {
  if (code == 0) return;
  const char* name = nullptr;
  const char* text = nullptr;
  library()->error_name(code, &name);
  library()->error_text(code, &text);
  throw_failure("CUDA: {} failed with code {} ({}: {}){}", call, code,
                name != nullptr ? name : "unknown", text != nullptr ? text : "no text",
                meaning_of(code));
}

}  // namespace trainyard::device::cuda
