#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/stopwatch.h"
#include "device/opencl_devices.h"
#include "device/opencl_library.h"

namespace trainyard::device {
namespace {

// Work-items step over the vectors by their number, so that any launch covers any length. The sum
// carries what rounding loses: one work-item may add 100 million terms.
constexpr const char* kSource = R"(
#define EACH(n) for (ulong i = get_global_id(0); i < (n); i += get_global_size(0))
#define FLOATS __global const float* restrict
__kernel void vector_copy(FLOATS x, FLOATS y, __global float* restrict z, float s, ulong n) { EACH(n) z[i] = x[i]; }
__kernel void vector_scale(FLOATS x, FLOATS y, __global float* restrict z, float s, ulong n) { EACH(n) z[i] = s * x[i]; }
__kernel void vector_add(FLOATS x, FLOATS y, __global float* restrict z, float s, ulong n) { EACH(n) z[i] = x[i] + y[i]; }
__kernel void vector_triad(FLOATS x, FLOATS y, __global float* restrict z, float s, ulong n) { EACH(n) z[i] = x[i] + s * y[i]; }
__kernel void vector_dot(FLOATS x, FLOATS y, __global float* restrict z, float s, ulong n) {
  float sum = 0.0f;
  float lost = 0.0f;
  EACH(n) {
    const float term = x[i] * y[i] - lost;
    const float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  z[get_global_id(0)] = sum;
}
)";

constexpr int64_t kGroup = 256;
// Of a sum: more would only leave more parts for the host to add.
constexpr int64_t kMostSumGroups = 1024;

struct Launch {
  int64_t items = 1;
  int64_t group = 1;
};

Launch launch_of(const VectorCase& what) {
  if (what.launch == "1x1") return {1, 1};
  if (what.launch == "1x256") return {kGroup, kGroup};
  int64_t groups = (what.elements + kGroup - 1) / kGroup;
  if (what.op == VectorOp::kDot) groups = std::min(groups, kMostSumGroups);
  return {groups * kGroup, kGroup};
}

class Buffer {
 public:
  Buffer(const cl::Library& cl, cl::Handle context, int64_t elements, bool mapped)
      : cl_(cl), bytes_(static_cast<size_t>(std::max<int64_t>(elements, 1)) * sizeof(float)) {
    int32_t code = 0;
    const uint64_t flags = cl::kReadWrite | (mapped ? cl::kAllocHostMemory : 0);
    memory_ = cl.create_buffer(context, flags, bytes_, nullptr, &code);
    cl::check(code, "clCreateBuffer");
  }
  ~Buffer() { cl_.release_memory(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  cl::Handle memory() const { return memory_; }
  size_t bytes() const { return bytes_; }

  float* map(cl::Handle queue, uint64_t how) const {
    int32_t code = 0;
    void* at = cl_.map_buffer(queue, memory_, 1, how, 0, bytes_, 0, nullptr, nullptr, &code);
    cl::check(code, "clEnqueueMapBuffer");
    return static_cast<float*>(at);
  }
  void unmap(cl::Handle queue, float* at) const {
    cl::check(cl_.unmap(queue, memory_, at, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
    cl::check(cl_.finish(queue), "clFinish");
  }
  void write(cl::Handle queue, const float* from) const {
    cl::check(cl_.write_buffer(queue, memory_, 1, 0, bytes_, from, 0, nullptr, nullptr),
              "clEnqueueWriteBuffer");
  }
  void read(cl::Handle queue, float* to) const {
    cl::check(cl_.read_buffer(queue, memory_, 1, 0, bytes_, to, 0, nullptr, nullptr),
              "clEnqueueReadBuffer");
  }

 private:
  const cl::Library& cl_;
  size_t bytes_;
  cl::Handle memory_ = nullptr;
};

void fill_x(float* x, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) x[i] = vector_x(i);
}

void fill_y(float* y, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) y[i] = vector_y(i);
}

bool result_is_right(VectorOp op, const float* z, int64_t elements, int64_t parts) {
  if (op != VectorOp::kDot) return vector_verified(op, z, elements);
  return vector_sum_verified(std::accumulate(z, z + parts, 0.0), elements);
}

class OpenClTarget final : public VectorTarget {
 public:
  explicit OpenClTarget(const OpenClDevice& device) : device_(device), cl_(*cl::library()) {
    int32_t code = 0;
    context_ = cl_.create_context(nullptr, 1, &device.id, nullptr, nullptr, &code);
    cl::check(code, "clCreateContext");
    queue_ = cl_.create_queue(context_, device.id, cl::kQueueProfiling, &code);
    cl::check(code, "clCreateCommandQueue");
    const char* source = kSource;
    program_ = cl_.create_program(context_, 1, &source, nullptr, &code);
    cl::check(code, "clCreateProgramWithSource");
    build();
    for (const VectorOp op : kVectorOps) {
      const std::string name = "vector_" + std::string(vector_op_name(op));
      kernels_.at(static_cast<size_t>(op)) = cl_.create_kernel(program_, name.c_str(), &code);
      cl::check(code, "clCreateKernel");
    }
  }

  ~OpenClTarget() override {
    for (cl::Handle kernel : kernels_) {
      if (kernel != nullptr) cl_.release_kernel(kernel);
    }
    cl_.release_program(program_);
    cl_.release_queue(queue_);
    cl_.release_context(context_);
  }

  const std::string& name() const override { return device_.name; }

  std::vector<std::string> launches(VectorOp) const override {
    if (device_.max_work_group < kGroup) return {"1x1"};
    return {"1x1", "1x256", "Nx256"};
  }

  std::vector<std::string> memories() const override { return {"copies", "unified"}; }
  bool shares_host_memory() const override { return device_.is_cpu; }

  double memory_bytes() const override {
    // Each of up to three vectors is one allocation.
    const double device = std::min(device_.memory_bytes, 3 * device_.max_allocation_bytes);
    const double host = free_host_memory();
    return host > 0 ? std::min(host, device) : device;
  }

  VectorTiming run(const VectorCase& what, double seconds) override {
    const Launch launch = launch_of(what);
    return what.memory == "unified" ? run_mapped(what, launch, seconds)
                                    : run_copied(what, launch, seconds);
  }

 private:
  struct Buffers {
    Buffers(const cl::Library& cl, cl::Handle context, const VectorCase& what, int64_t results,
            bool mapped)
        : x(cl, context, what.elements, mapped),
          y(cl, context, vector_inputs(what.op) == 2 ? what.elements : 0, mapped),
          z(cl, context, results, mapped) {}
    Buffer x;
    Buffer y;
    Buffer z;
  };

  static int64_t results_of(const VectorCase& what, const Launch& launch) {
    return what.op == VectorOp::kDot ? launch.items : what.elements;
  }

  VectorTiming run_copied(const VectorCase& what, const Launch& launch, double seconds) {
    const bool two = vector_inputs(what.op) == 2;
    const auto elements = static_cast<size_t>(what.elements);
    VectorTiming timing;
    Stopwatch allocating;
    auto buffers = std::make_unique<Buffers>(cl_, context_, what, results_of(what, launch), false);
    // Not cleared: the first touch is timed apart.
    std::unique_ptr<float[]> x(new float[elements]);
    std::unique_ptr<float[]> y(two ? new float[elements] : nullptr);
    std::unique_ptr<float[]> z(new float[buffers->z.bytes() / sizeof(float)]);
    timing.alloc_s = allocating.seconds();
    Stopwatch touching;
    fill_x(x.get(), what.elements);
    if (two) fill_y(y.get(), what.elements);
    std::memset(z.get(), 0, buffers->z.bytes());
    timing.first_touch_s = touching.seconds();
    Stopwatch going;
    buffers->x.write(queue_, x.get());
    if (two) buffers->y.write(queue_, y.get());
    timing.to_device_s = going.seconds();
    run_kernels(what, launch, *buffers, seconds, timing);
    Stopwatch coming;
    buffers->z.read(queue_, z.get());
    timing.from_device_s = coming.seconds();
    timing.verified = result_is_right(what.op, z.get(), what.elements, launch.items);
    Stopwatch freeing;
    buffers.reset();
    x.reset();
    y.reset();
    z.reset();
    timing.free_s = freeing.seconds();
    return timing;
  }

  VectorTiming run_mapped(const VectorCase& what, const Launch& launch, double seconds) {
    const bool two = vector_inputs(what.op) == 2;
    VectorTiming timing;
    Stopwatch allocating;
    auto buffers = std::make_unique<Buffers>(cl_, context_, what, results_of(what, launch), true);
    timing.alloc_s = allocating.seconds();
    Stopwatch touching;
    float* x = buffers->x.map(queue_, cl::kMapWrite);
    fill_x(x, what.elements);
    float* y = two ? buffers->y.map(queue_, cl::kMapWrite) : nullptr;
    if (two) fill_y(y, what.elements);
    timing.first_touch_s = touching.seconds();
    Stopwatch going;
    buffers->x.unmap(queue_, x);
    if (two) buffers->y.unmap(queue_, y);
    timing.to_device_s = going.seconds();
    run_kernels(what, launch, *buffers, seconds, timing);
    Stopwatch coming;
    float* z = buffers->z.map(queue_, cl::kMapRead);
    timing.from_device_s = coming.seconds();
    timing.verified = result_is_right(what.op, z, what.elements, launch.items);
    Stopwatch freeing;
    buffers->z.unmap(queue_, z);
    buffers.reset();
    timing.free_s = freeing.seconds();
    return timing;
  }

  void run_kernels(const VectorCase& what, const Launch& launch, const Buffers& buffers,
                   double seconds, VectorTiming& timing) {
    cl::Handle kernel = kernels_.at(static_cast<size_t>(what.op));
    const cl::Handle memories[] = {buffers.x.memory(), buffers.y.memory(), buffers.z.memory()};
    const auto count = static_cast<uint64_t>(what.elements);
    for (uint32_t i = 0; i < 3; ++i) set(kernel, i, sizeof(memories[i]), &memories[i]);
    set(kernel, 3, sizeof(kVectorScale), &kVectorScale);
    set(kernel, 4, sizeof(count), &count);
    const auto pass = [&] { return one_kernel(kernel, launch); };
    timing.first_kernel_s = pass();
    timing.kernel_s = repeat_kernel(seconds, pass);
  }

  void set(cl::Handle kernel, uint32_t index, size_t size, const void* value) const {
    cl::check(cl_.set_argument(kernel, index, size, value), "clSetKernelArg");
  }

  // Seconds by the clock of the device.
  double one_kernel(cl::Handle kernel, const Launch& launch) const {
    const auto items = static_cast<size_t>(launch.items);
    const auto group = static_cast<size_t>(launch.group);
    cl::Handle event = nullptr;
    cl::check(cl_.run_kernel(queue_, kernel, 1, nullptr, &items, &group, 0, nullptr, &event),
              "clEnqueueNDRangeKernel");
    uint64_t begin = 0;
    uint64_t end = 0;
    int32_t code = cl_.wait_events(1, &event);
    if (code == 0) {
      code = cl_.event_times(event, cl::kProfilingStart, sizeof(begin), &begin, nullptr);
    }
    if (code == 0) code = cl_.event_times(event, cl::kProfilingEnd, sizeof(end), &end, nullptr);
    cl_.release_event(event);
    cl::check(code, "a kernel");
    return static_cast<double>(end - begin) * 1e-9;
  }

  void build() {
    const int32_t code = cl_.build_program(program_, 1, &device_.id, "", nullptr, nullptr);
    if (code == 0) return;
    size_t size = 0;
    cl_.build_info(program_, device_.id, cl::kBuildLog, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_.build_info(program_, device_.id, cl::kBuildLog, size, log.data(), nullptr);
    throw_failure("OpenCL: the kernels do not build on {} (code {}):\n{}", device_.name, code,
                  log.c_str());
  }

  OpenClDevice device_;
  const cl::Library& cl_;
  cl::Handle context_ = nullptr;
  cl::Handle queue_ = nullptr;
  cl::Handle program_ = nullptr;
  std::array<cl::Handle, kVectorOps.size()> kernels_ = {};
};

}  // namespace

std::unique_ptr<VectorTarget> make_opencl_target(const OpenClDevice& device) {
  return std::make_unique<OpenClTarget>(device);
}

}  // namespace trainyard::device
