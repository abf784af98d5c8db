// Our declarations of CUDA's driver and NVRTC beside NVIDIA's; compiled alone, where its headers
// are installed.
#include <cuda.h>
#include <nvrtc.h>
#include <type_traits>

#include "engine/device/cuda_library.h"

namespace trainyard::device::cuda {
namespace {

// What may stand for what in a call: integers and enumerations of one size, any pointers.
template <typename Ours, typename Theirs>
constexpr bool kAlike = (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
                        (!std::is_pointer_v<Ours> && !std::is_pointer_v<Theirs> &&
                         sizeof(Ours) == sizeof(Theirs));

template <typename Ours, typename Theirs>
struct SameCall;
template <typename R, typename... A, typename S, typename... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return kAlike<R, S> && (kAlike<A, B> && ...);
    }
  }();
};

#define SAME(table, ours, theirs) \
  static_assert(SameCall<decltype(table::ours), decltype(&(theirs))>::value, #theirs)
SAME(Library, init, cuInit);
SAME(Library, driver_version, cuDriverGetVersion);
SAME(Library, device_count, cuDeviceGetCount);
SAME(Library, get_device, cuDeviceGet);
SAME(Library, device_name, cuDeviceGetName);
SAME(Library, device_memory, cuDeviceTotalMem);
SAME(Library, attribute, cuDeviceGetAttribute);
SAME(Library, retain_context, cuDevicePrimaryCtxRetain);
SAME(Library, release_context, cuDevicePrimaryCtxRelease);
SAME(Library, use_context, cuCtxSetCurrent);
SAME(Library, alloc, cuMemAlloc);
SAME(Library, alloc_managed, cuMemAllocManaged);
SAME(Library, free, cuMemFree);
SAME(Library, to_device, cuMemcpyHtoDAsync);
SAME(Library, to_host, cuMemcpyDtoHAsync);
SAME(Library, create_stream, cuStreamCreate);
SAME(Library, destroy_stream, cuStreamDestroy);
SAME(Library, synchronize, cuStreamSynchronize);
SAME(Library, create_event, cuEventCreate);
SAME(Library, record, cuEventRecord);
SAME(Library, wait_event, cuEventSynchronize);
SAME(Library, elapsed, cuEventElapsedTime);
SAME(Library, destroy_event, cuEventDestroy);
SAME(Library, load_module, cuModuleLoadData);
SAME(Library, unload_module, cuModuleUnload);
SAME(Library, get_function, cuModuleGetFunction);
SAME(Library, launch, cuLaunchKernel);
SAME(Library, error_name, cuGetErrorName);
SAME(Library, error_text, cuGetErrorString);
SAME(Compiler, version, nvrtcVersion);
SAME(Compiler, create, nvrtcCreateProgram);
SAME(Compiler, compile, nvrtcCompileProgram);
SAME(Compiler, result_size, nvrtcGetPTXSize);
SAME(Compiler, result, nvrtcGetPTX);
SAME(Compiler, log_size, nvrtcGetProgramLogSize);
SAME(Compiler, log, nvrtcGetProgramLog);
SAME(Compiler, destroy, nvrtcDestroyProgram);
SAME(Compiler, num_architectures, nvrtcGetNumSupportedArchs);
SAME(Compiler, architectures, nvrtcGetSupportedArchs);
#undef SAME
// cuMemPrefetchAsync is the driver's first form of it, which headers of CUDA 13 no longer declare.

static_assert(kMaxGroup == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(kLocalMemory == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(kComputeUnits == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kIntegrated == CU_DEVICE_ATTRIBUTE_INTEGRATED);
static_assert(kMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kManagedMemory == CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
static_assert(kConcurrentManaged == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
static_assert(kAttachGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kHostDevice == CU_DEVICE_CPU);
static_assert(sizeof(Address) == sizeof(CUdeviceptr));

}  // namespace
}  // namespace trainyard::device::cuda
