// A libcuda.so.1 with one device whose memory is the host's, for error paths that no machine shows
// on demand.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "support/fake_driver.h"

using trainyard::fake::fails;

namespace {

constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kBadPtx = 218;
constexpr int kNotFound = 500;
constexpr int kLaunchOutOfResources = 701;
constexpr int kMismatch = 803;
constexpr int kUnknown = 999;

struct Function {
  std::string name;
};
int launches = 0;

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return fails("wrong_driver") ? kMismatch : 0;
}
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = fails("no_device") ? 0 : 1;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index == 0 ? 0 : kNoDevice;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 34;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> kValues = {{1, 1024}, {8, 49152}, {16, 80}, {18, 1},
                                             {76, 0},   {83, 1},    {89, 1}};
  if (attribute == 75) {
    *value = fails("old_device") ? 3 : 8;
    return 0;
  }
  const auto found = kValues.find(attribute);
  *value = found != kValues.end() ? found->second : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &launches;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxSetCurrent(void*) {
  return 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (fails("out_of_memory")) return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(std::malloc(bytes));
  return 0;
}
int cuMemAllocManaged(uint64_t* address, size_t bytes, unsigned) {
  return cuMemAlloc_v2(address, bytes);
}
int cuMemPrefetchAsync(uint64_t, size_t, int, void*) {
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = &launches;
  return 0;
}
int cuStreamDestroy_v2(void*) {
  return 0;
}
// A device that is lost is noticed when somebody waits for it.
int cuStreamSynchronize(void*) {
  return fails("lost") && launches > 1 ? kUnknown : 0;
}
int cuEventCreate(void** event, unsigned) {
  *event = std::malloc(1);
  return 0;
}
int cuEventRecord(void*, void*) {
  return 0;
}
int cuEventSynchronize(void*) {
  return cuStreamSynchronize(nullptr);
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0.25F;
  return 0;
}
int cuEventDestroy_v2(void* event) {
  std::free(event);
  return 0;
}
int cuModuleLoadData(void** module, const void* ptx) {
  *module = &launches;
  const bool ours = std::strncmp(static_cast<const char*>(ptx), "// fake PTX", 11) == 0;
  return fails("bad_ptx") || !ours ? kBadPtx : 0;
}
int cuModuleUnload(void*) {
  return 0;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  if (std::strncmp(name, "vector_", 7) != 0) return kNotFound;
  static std::map<std::string, Function> functions;
  Function& known = functions[name];
  known.name = name;
  *function = &known;
  return 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned, void*, void** parameters, void**) {
  if (fails("failed_launch")) return kLaunchOutOfResources;
  ++launches;
  // Arrays are a pointer and an element where they begin.
  const auto array = [&](int i) {
    return *static_cast<float**>(parameters[i]) + *static_cast<int64_t*>(parameters[i + 1]);
  };
  const int64_t items = int64_t{gx} * gy * gz * bx * by * bz;
  trainyard::fake::run_vector_kernel(
      static_cast<Function*>(function)->name,
      {array(0), array(2), array(4), *static_cast<float*>(parameters[6]),
       *static_cast<int64_t*>(parameters[7])},
      items);
  return 0;
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory"
          : code == kMismatch  ? "driver mismatch"
                               : "a fake error";
  return 0;
}

}  // extern "C"
