// libOpenCL with two other functions, around two faults of oclgrind 21.10 in knowing which bytes of
// a buffer were written.
// - On a write of the host it replaces all it knew of the buffer by as many bytes as are written,
//   as if they lay at its beginning: after writes into both halves of a buffer it reports every
//   read. Here a part is written to a buffer of its own, whole, and a kernel copies it from there,
//   which oclgrind follows byte by byte.
// - What it knew of a released buffer it takes for knowledge of the next one at the same address,
//   which may be larger. Here buffers stay until the program ends.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

constexpr const char* kText =
    "__kernel void place(__global const char* from, __global char* to, ulong at) {"
    "  to[at + get_global_id(0)] = from[get_global_id(0)];"
    "}";

void require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "staged writes: %s gives %d\n", what, code);
  std::abort();
}

template <typename Handle>
Handle of_queue(cl_command_queue queue, cl_command_queue_info what) {
  Handle handle = nullptr;
  // Handles are pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
  require(clGetCommandQueueInfo(queue, what, sizeof(handle), &handle, nullptr), "a queue");
  return handle;
}

// For each write anew: programs belong to a context, and tests may take the time.
cl_kernel copying_kernel(cl_command_queue queue) {
  const auto device = of_queue<cl_device_id>(queue, CL_QUEUE_DEVICE);
  cl_int code = CL_SUCCESS;
  const char* text = kText;
  const cl_program program = clCreateProgramWithSource(
      of_queue<cl_context>(queue, CL_QUEUE_CONTEXT), 1, &text, nullptr, &code);
  require(code, "clCreateProgramWithSource");
  require(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  const cl_kernel kernel = clCreateKernel(program, "place", &code);
  require(code, "clCreateKernel");
  clReleaseProgram(program);
  return kernel;
}

void copy_by_kernel(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, size_t bytes) {
  const cl_kernel kernel = copying_kernel(queue);
  const cl_ulong at = offset;
  require(clSetKernelArg(kernel, 0, sizeof(cl_mem), &from), "from");
  require(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to), "to");
  require(clSetKernelArg(kernel, 2, sizeof(at), &at), "at");
  require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &bytes, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  require(clFinish(queue), "clFinish");
  clReleaseKernel(kernel);
}

}  // namespace

extern "C" cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t bytes, const void* from,
                                       cl_uint num_waits, const cl_event* waits, cl_event* event) {
  static const auto kReal =
      reinterpret_cast<decltype(&clEnqueueWriteBuffer)>(dlsym(RTLD_NEXT, "clEnqueueWriteBuffer"));
  size_t whole = 0;
  require(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(whole), &whole, nullptr), "a buffer");
  if (offset == 0 && bytes == whole) {
    return kReal(queue, buffer, blocking, offset, bytes, from, num_waits, waits, event);
  }
  cl_int code = CL_SUCCESS;
  const cl_mem staged = clCreateBuffer(of_queue<cl_context>(queue, CL_QUEUE_CONTEXT),
                                       CL_MEM_READ_WRITE, bytes, nullptr, &code);
  require(code, "clCreateBuffer");
  code = kReal(queue, staged, CL_TRUE, 0, bytes, from, num_waits, waits, event);
  if (code == CL_SUCCESS) copy_by_kernel(queue, staged, buffer, offset, bytes);
  return code;
}

extern "C" cl_int clReleaseMemObject(cl_mem) {
  return CL_SUCCESS;
}
