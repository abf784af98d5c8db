// Vector operations on any device behind device.h.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

constexpr int64_t kGroup = 256;
// Of a sum: more would only leave more parts for the host to add.
constexpr int64_t kMostSumGroups = 1024;

Grid grid_of(const VectorCase& what) {
  if (what.launch == "1x1") return {};
  if (what.launch == "1x256") return {.group = {kGroup, 1, 1}};
  TY_REQUIRE(what.launch == "Nx256", "unknown launch '{}'; there are 1x1, 1x256, Nx256",
             what.launch);
  int64_t groups = (what.elements + kGroup - 1) / kGroup;
  if (what.op == VectorOp::kDot) groups = std::min(groups, kMostSumGroups);
  return {.groups = {groups, 1, 1}, .group = {kGroup, 1, 1}};
}

Sharing sharing_of(const VectorCase& what, const DeviceInfo& info) {
  if (what.memory == "copies") return Sharing::kNone;
  for (const Sharing sharing : info.sharings) {
    if (sharing_name(sharing) == what.sharing) return sharing;
  }
  throw_error("{} does not offer '{}' memory", info.name, what.sharing);
}

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

// Reads a number of every page, which brings all of them to the host.
void touch_pages(const float* data, int64_t elements) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  volatile float sink = 0;
  for (int64_t i = 0; i < elements; i += kPage) sink = sink + data[i];
}

class DeviceTarget final : public VectorTarget {
 public:
  explicit DeviceTarget(std::shared_ptr<Device> device)
      : device_(std::move(device)), program_(device_->program("vector")) {
    for (const VectorOp op : kVectorOps) {
      kernels_.at(static_cast<size_t>(op)) =
          program_->kernel("vector_" + std::string(vector_op_name(op)));
    }
  }

  const std::string& name() const override { return device_->info().name; }

  std::vector<std::string> launches(VectorOp) const override {
    if (device_->info().max_group < kGroup) return {"1x1"};
    return {"1x1", "1x256", "Nx256"};
  }

  std::vector<VectorMemory> memories() const override {
    std::vector<VectorMemory> all = {{"copies"}};
    for (const Sharing sharing : device_->info().sharings) {
      all.push_back({"unified", std::string(sharing_name(sharing))});
    }
    return all;
  }
  bool shares_host_memory() const override { return device_->info().shares_host_memory; }

  double memory_bytes() const override {
    // Each of up to three vectors is one allocation.
    const DeviceInfo& info = device_->info();
    const double device = std::min(info.memory_bytes, 3 * info.max_allocation_bytes);
    const double host = free_host_memory();
    return host > 0 ? std::min(host, device) : device;
  }

  VectorTiming run(const VectorCase& what, double seconds) override {
    const Sharing sharing = sharing_of(what, device_->info());
    return sharing == Sharing::kNone ? run_copied(what, seconds)
                                     : run_shared(what, sharing, seconds);
  }

 private:
  struct Buffers {
    Buffers(Device& device, const VectorCase& what, Sharing sharing)
        : results(what.op == VectorOp::kDot ? grid_of(what).groups[0] * grid_of(what).group[0]
                                            : what.elements),
          x(device.allocate(bytes_of(what.elements), sharing)),
          y(vector_inputs(what.op) == 2 ? device.allocate(bytes_of(what.elements), sharing)
                                        : nullptr),
          z(device.allocate(bytes_of(results), sharing)) {}
    static size_t bytes_of(int64_t elements) {
      return static_cast<size_t>(elements) * sizeof(float);
    }
    int64_t results;
    std::unique_ptr<Buffer> x;
    std::unique_ptr<Buffer> y;  // null if the operation has one input
    std::unique_ptr<Buffer> z;
  };

  VectorTiming run_copied(const VectorCase& what, double seconds) {
    const auto elements = static_cast<size_t>(what.elements);
    VectorTiming timing;
    Stopwatch allocating;
    auto buffers = std::make_unique<Buffers>(*device_, what, Sharing::kNone);
    const bool two = buffers->y != nullptr;
    // Not cleared: the first touch is timed apart.
    std::unique_ptr<float[]> x(new float[elements]);
    std::unique_ptr<float[]> y(two ? new float[elements] : nullptr);
    std::unique_ptr<float[]> z(new float[static_cast<size_t>(buffers->results)]);
    timing.alloc_s = allocating.seconds();
    Stopwatch touching;
    fill_x(x.get(), what.elements);
    if (two) fill_y(y.get(), what.elements);
    std::memset(z.get(), 0, buffers->z->bytes());
    timing.first_touch_s = touching.seconds();
    Stopwatch going;
    device_->write(buffers->x->address(), x.get(), buffers->x->bytes());
    if (two) device_->write(buffers->y->address(), y.get(), buffers->y->bytes());
    timing.to_device_s = going.seconds();
    run_kernels(what, *buffers, seconds, timing);
    Stopwatch coming;
    device_->read(z.get(), buffers->z->address(), buffers->z->bytes());
    timing.from_device_s = coming.seconds();
    timing.verified = result_is_right(what.op, z.get(), what.elements, buffers->results);
    Stopwatch freeing;
    buffers.reset();
    x.reset();
    y.reset();
    z.reset();
    timing.free_s = freeing.seconds();
    return timing;
  }

  VectorTiming run_shared(const VectorCase& what, Sharing sharing, double seconds) {
    VectorTiming timing;
    Stopwatch allocating;
    auto buffers = std::make_unique<Buffers>(*device_, what, sharing);
    const bool two = buffers->y != nullptr;
    timing.alloc_s = allocating.seconds();
    Stopwatch touching;
    fill_x(reinterpret_cast<float*>(buffers->x->open()), what.elements);
    if (two) fill_y(reinterpret_cast<float*>(buffers->y->open()), what.elements);
    timing.first_touch_s = touching.seconds();
    Stopwatch going;
    buffers->x->close();
    if (two) buffers->y->close();
    timing.to_device_s = going.seconds();
    run_kernels(what, *buffers, seconds, timing);
    Stopwatch coming;
    const auto* z = reinterpret_cast<const float*>(buffers->z->open());
    touch_pages(z, buffers->results);
    timing.from_device_s = coming.seconds();
    timing.verified = result_is_right(what.op, z, what.elements, buffers->results);
    Stopwatch freeing;
    buffers->z->close();
    buffers.reset();
    timing.free_s = freeing.seconds();
    return timing;
  }

  void run_kernels(const VectorCase& what, const Buffers& buffers, double seconds,
                   VectorTiming& timing) {
    const void* y = buffers.y != nullptr ? buffers.y->address() : nullptr;
    const std::array<Argument, 5> arguments = {static_cast<const void*>(buffers.x->address()), y,
                                               static_cast<const void*>(buffers.z->address()),
                                               kVectorScale, what.elements};
    const auto pass = [&] {
      Kernel& kernel = *kernels_.at(static_cast<size_t>(what.op));
      return device_->launch(kernel, grid_of(what), arguments, /*timed=*/true)->seconds();
    };
    timing.first_kernel_s = pass();
    timing.kernel_s = repeat_kernel(seconds, pass);
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Program> program_;
  std::array<std::unique_ptr<Kernel>, kVectorOps.size()> kernels_;
};

}  // namespace

std::unique_ptr<VectorTarget> make_device_target(std::shared_ptr<Device> device) {
  return std::make_unique<DeviceTarget>(std::move(device));
}

}  // namespace trainyard::device
