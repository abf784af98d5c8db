// Adds two vectors on a device of OpenCL with copies there and back, in three launches.
// Build: g++ -O2 add_opencl.cpp -lOpenCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <vector>

#include "add.h"

static void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "%s failed with code %d\n", call, code);
  std::exit(1);
}

static const char* const kSource =
    "__kernel void add(__global const float* x, __global const float* y, __global float* z, ulong "
    "n) {\n"
    "  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) z[i] = x[i] + y[i];\n"
    "}\n";

// A buffer of the device for n floats.
static cl_mem buffer_of(cl_context context, long n) {
  cl_int code = 0;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, static_cast<size_t>(n) * sizeof(float),
                                 nullptr, &code);
  check(code, "clCreateBuffer");
  return buffer;
}

// Milliseconds by the clock of the device.
static double time_add(cl_command_queue queue, cl_kernel kernel, size_t groups, size_t items) {
  const size_t all = groups * items;
  cl_event event;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &all, &items, 0, nullptr, &event),
        "clEnqueueNDRangeKernel");
  check(clWaitForEvents(1, &event), "clWaitForEvents");
  cl_ulong begin = 0, end = 0;
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, nullptr),
        "profiling");
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr),
        "profiling");
  clReleaseEvent(event);
  return static_cast<double>(end - begin) * 1e-6;
}

int main(int argc, char** argv) {
  const long n = elements_of(argc, argv);
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  std::vector<float> x(n), y(n), z(n);
  fill(x.data(), y.data(), n);

  // The first device of the first platform.
  cl_platform_id platform;
  cl_device_id device;
  cl_int code = 0;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
  check(code, "clCreateCommandQueue");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "add", &code);
  check(code, "clCreateKernel");

  cl_mem buffers[] = {buffer_of(context, n), buffer_of(context, n), buffer_of(context, n)};
  const cl_ulong count = static_cast<cl_ulong>(n);
  for (cl_uint i = 0; i < 3; ++i)
    check(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
  check(clSetKernelArg(kernel, 3, sizeof(count), &count), "clSetKernelArg");

  const struct {
    const char* name;
    size_t groups;
    size_t items;
  } launches[] = {
      {"1x1", 1, 1}, {"1x256", 1, 256}, {"Nx256", static_cast<size_t>((n + 255) / 256), 256}};
  bool all_right = true;
  print_heading();
  for (const auto& launch : launches) {
    double begin = now_ms();
    check(clEnqueueWriteBuffer(queue, buffers[0], CL_TRUE, 0, bytes, x.data(), 0, nullptr, nullptr),
          "write");
    check(clEnqueueWriteBuffer(queue, buffers[1], CL_TRUE, 0, bytes, y.data(), 0, nullptr, nullptr),
          "write");
    const double there = now_ms() - begin;
    time_add(queue, kernel, launch.groups, launch.items);  // the first may compile for this launch
    const double took = time_add(queue, kernel, launch.groups, launch.items);
    begin = now_ms();
    check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, bytes, z.data(), 0, nullptr, nullptr),
          "read");
    const double back = now_ms() - begin;
    const bool is_right = right(z.data(), n);
    all_right = all_right && is_right;
    print_row("add_opencl.cpp", launch.name, "copies", n, there, took, back, is_right);
  }
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return all_right ? 0 : 1;
}
