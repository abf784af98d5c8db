#include "device/opencl_library.h"

#include <dlfcn.h>

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

}  // namespace

const Library* library() {
  static Library functions = {};
  static const bool there = [] {
    void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return handle != nullptr && bind_all(handle, functions);
  }();
  return there ? &functions : nullptr;
}

void check(int32_t code, const char* call) {
  if (code != 0) throw_failure("OpenCL: {} failed with code {}", call, code);
}

}  // namespace trainyard::device::cl
