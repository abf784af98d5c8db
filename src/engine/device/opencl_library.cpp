#include "engine/device/opencl_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

#include "base/error.h"

namespace trainyard::device::cl {
namespace {

template <typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool bind_all(void* handle, Library& cl) {
  return bind(handle, "clGetPlatformIDs", cl.get_platforms) &&
         bind(handle, "clGetPlatformInfo", cl.platform_info) &&
         bind(handle, "clGetDeviceIDs", cl.get_devices) &&
         bind(handle, "clGetDeviceInfo", cl.device_info) &&
         bind(handle, "clCreateContext", cl.create_context) &&
         bind(handle, "clCreateCommandQueue", cl.create_queue) &&
         bind(handle, "clCreateProgramWithSource", cl.create_program) &&
         bind(handle, "clCreateProgramWithBinary", cl.create_from_binary) &&
         bind(handle, "clGetProgramInfo", cl.program_info) &&
         bind(handle, "clBuildProgram", cl.build_program) &&
         bind(handle, "clGetProgramBuildInfo", cl.build_info) &&
         bind(handle, "clCreateKernel", cl.create_kernel) &&
         bind(handle, "clSetKernelArg", cl.set_argument) &&
         bind(handle, "clCreateBuffer", cl.create_buffer) &&
         bind(handle, "clEnqueueWriteBuffer", cl.write_buffer) &&
         bind(handle, "clEnqueueReadBuffer", cl.read_buffer) &&
         bind(handle, "clEnqueueMapBuffer", cl.map_buffer) &&
         bind(handle, "clEnqueueUnmapMemObject", cl.unmap) &&
         bind(handle, "clEnqueueNDRangeKernel", cl.run_kernel) &&
         bind(handle, "clWaitForEvents", cl.wait_events) &&
         bind(handle, "clGetEventProfilingInfo", cl.event_times) &&
         bind(handle, "clFinish", cl.finish) && bind(handle, "clReleaseEvent", cl.release_event) &&
         bind(handle, "clReleaseMemObject", cl.release_memory) &&
         bind(handle, "clReleaseKernel", cl.release_kernel) &&
         bind(handle, "clReleaseProgram", cl.release_program) &&
         bind(handle, "clReleaseCommandQueue", cl.release_queue) &&
         bind(handle, "clReleaseContext", cl.release_context);
}

void bind_shared_memory(void* handle, Library& cl) {
  const bool all = bind(handle, "clSVMAlloc", cl.shared_alloc) &&
                   bind(handle, "clSVMFree", cl.shared_free) &&
                   bind(handle, "clSetKernelArgSVMPointer", cl.set_shared) &&
                   bind(handle, "clEnqueueSVMMap", cl.shared_map) &&
                   bind(handle, "clEnqueueSVMUnmap", cl.shared_unmap);
  if (!all) cl.shared_alloc = nullptr;
}

struct Meaning {
  int32_t code;
  std::string_view text;
};

constexpr Meaning kMeanings[] = {
    {-1, "the platform has no device"},
    {-2, "the device is not available: another program may hold it, or it was lost"},
    {-4, "the device has no memory for it; try fewer elements or a smaller batch"},
    {-5, "the device is out of resources; try a smaller launch or a smaller batch"},
    {-6, "the host has no memory for it"},
    {-14,
     "a command before it failed: the device may be lost; 'trainyard device list' shows "
     "whether it is still there"},
    {-36,
     "the queue is gone: the device was lost; 'trainyard device list' shows whether it is "
     "still there"},
    {-54, "the device takes no groups of this size"},
    {-61, "the device takes no buffer of this size"},
};

}  // namespace

const Library* library() {
  static Library functions = {};
  static const bool kThere = [] {
    // Another one by name, because oneDNN may be linked to the usual one.
    const char* other = std::getenv("TRAINYARD_OPENCL");
    void* handle = dlopen(other != nullptr ? other : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr || !bind_all(handle, functions)) return false;
    bind_shared_memory(handle, functions);
    return true;
  }();
  return kThere ? &functions : nullptr;
}

void check(int32_t code, const char* call) {
  if (code == 0) return;
  std::string_view text;
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code == code) text = meaning.text;
  }
  throw_failure("OpenCL: {} failed with code {}{}{}", call, code, text.empty() ? "" : ": ", text);
}

}  // namespace trainyard::device::cl
