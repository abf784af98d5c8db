#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/cuda_library.h"
#include "engine/device/nvrtc.h"
#include "engine/device/program_cache.h"

namespace trainyard::device {
namespace {

// Everything else of a device lives at most as long as its context.
// The primary context, which other libraries in the process share.
struct CudaRoot {
  explicit CudaRoot(const CudaDevice& offered) : cu(*cuda::library()), device(offered) {
    cuda::check(cu.retain_context(&context, device.id), "cuDevicePrimaryCtxRetain");
    cu.use_context(context);
    const int32_t code = cu.create_stream(&stream, 0);
    if (code != 0) cu.release_context(device.id);
    cuda::check(code, "cuStreamCreate");
  }
  ~CudaRoot() {
    cu.use_context(context);
    cu.destroy_stream(stream);
    cu.release_context(device.id);
  }
  CudaRoot(const CudaRoot&) = delete;
  CudaRoot& operator=(const CudaRoot&) = delete;

  // A context is current to a thread; calls may come from any.
  void use() const { cuda::check(cu.use_context(context), "cuCtxSetCurrent"); }
  void wait() const { cuda::check(cu.synchronize(stream), "cuStreamSynchronize"); }

  const cuda::Library& cu;
  CudaDevice device;
  cuda::Handle context = nullptr;
  cuda::Handle stream = nullptr;
};

using SharedRoot = std::shared_ptr<CudaRoot>;

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(SharedRoot root, size_t bytes, Sharing sharing)
      : root_(std::move(root)), bytes_(bytes), sharing_(sharing) {
    root_->use();
    if (sharing == Sharing::kNone) {
      cuda::check(root_->cu.alloc(&address_, bytes), "cuMemAlloc");
    } else {
      cuda::check(root_->cu.alloc_managed(&address_, bytes, cuda::kAttachGlobal),
                  "cuMemAllocManaged");
    }
  }
  ~CudaBuffer() override {
    // Unchecked: a destructor must not throw, and a lost device has nothing to free.
    root_->cu.use_context(root_->context);
    root_->cu.free(address_);
  }

  std::byte* address() const override { return reinterpret_cast<std::byte*>(address_); }
  size_t bytes() const override { return bytes_; }

  // Shared memory moves to the host on its own; prefetching only saves the page faults.
  std::byte* open() override {
    TY_CHECK(sharing_ != Sharing::kNone, "a buffer that is not shared");
    root_->use();
    send_to(cuda::kHostDevice);
    root_->wait();
    return address();
  }
  void close() override {
    root_->use();
    send_to(root_->device.id);
    root_->wait();
  }

 private:
  void send_to(int32_t device) {
    if (sharing_ != Sharing::kPrefetched) return;
    cuda::check(root_->cu.prefetch(address_, bytes_, device, root_->stream), "cuMemPrefetchAsync");
  }

  SharedRoot root_;
  size_t bytes_;
  Sharing sharing_;
  cuda::Address address_ = 0;
};

// Marks before and after a launch.
class CudaEvent final : public Event {
 public:
  // With the context current, which launch() has seen to.
  explicit CudaEvent(SharedRoot root) : root_(std::move(root)) {
    cuda::check(root_->cu.create_event(&begin_, 0), "cuEventCreate");
    const int32_t code = root_->cu.create_event(&end_, 0);
    if (code != 0) root_->cu.destroy_event(begin_);
    cuda::check(code, "cuEventCreate");
  }
  ~CudaEvent() override {
    root_->cu.destroy_event(begin_);
    root_->cu.destroy_event(end_);
  }

  void begin() { cuda::check(root_->cu.record(begin_, root_->stream), "cuEventRecord"); }
  void end() { cuda::check(root_->cu.record(end_, root_->stream), "cuEventRecord"); }

  double seconds() override {
    root_->use();
    float milliseconds = 0;
    cuda::check(root_->cu.wait_event(end_), "a kernel");
    cuda::check(root_->cu.elapsed(&milliseconds, begin_, end_), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  SharedRoot root_;
  cuda::Handle begin_ = nullptr;
  cuda::Handle end_ = nullptr;
};

struct CudaKernel final : Kernel {
  std::string name;
  cuda::Handle function = nullptr;  // of its module
};

// The newest architecture that both know; PTX for it runs on the device.
int32_t common_architecture(const CudaDevice& device) {
  const std::vector<int32_t> known = nvrtc_architectures();
  // Without a list, as before CUDA 11.2, the device's own is tried.
  int32_t best = known.empty() ? device.capability : 0;
  for (const int32_t architecture : known) {
    // The list is ascending.
    if (architecture <= device.capability) best = architecture;
  }
  if (best == 0) {
    throw_failure(
        "CUDA: {} has compute capability {}.{}, and NVRTC {} compiles for {}.{} and above; install "
        "an older CUDA toolkit",
        device.info.name, device.capability / 10, device.capability % 10, nvrtc_version(),
        known.front() / 10, known.front() % 10);
  }
  return best;
}

class CudaProgram final : public Program {
 public:
  CudaProgram(SharedRoot root, const std::string& text) : root_(std::move(root)) {
    const int32_t architecture = common_architecture(root_->device);
    // PTX, not a binary: the driver compiles it for the device and keeps a cache of its own.
    const std::string key =
        fmt::format("NVRTC {}\ncompute_{}\n{}", nvrtc_version(), architecture, text);
    auto ptx = program_cache().find(key);
    if (!ptx) {
      ptx = compile_ptx(text, architecture);
      program_cache().store(key, *ptx);
    }
    root_->use();
    cuda::check(root_->cu.load_module(&module_, ptx->c_str()), "cuModuleLoadData");
  }
  ~CudaProgram() override {
    root_->cu.use_context(root_->context);
    root_->cu.unload_module(module_);
  }

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    root_->use();
    auto kernel = std::make_unique<CudaKernel>();
    kernel->name = name;
    cuda::check(root_->cu.get_function(&kernel->function, module_, name.c_str()),
                ("cuModuleGetFunction " + name).c_str());
    return kernel;
  }

 private:
  SharedRoot root_;
  cuda::Handle module_ = nullptr;
};

class CudaRunner final : public Device {
 public:
  explicit CudaRunner(const CudaDevice& offered) : root_(std::make_shared<CudaRoot>(offered)) {}

  const DeviceInfo& info() const override { return root_->device.info; }

  std::unique_ptr<Buffer> allocate(size_t bytes, Sharing sharing) override {
    return std::make_unique<CudaBuffer>(root_, std::max<size_t>(bytes, 1), sharing);
  }
  std::shared_ptr<Program> build(const std::string& text) override {
    return std::make_shared<CudaProgram>(root_, text);
  }

  // Returns when the copy is done, so `from` may be reused.
  void write(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    root_->use();
    cuda::check(
        root_->cu.to_device(reinterpret_cast<cuda::Address>(to), from, bytes, root_->stream),
        "cuMemcpyHtoD");
    root_->wait();
  }
  void read(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    root_->use();
    cuda::check(root_->cu.to_host(to, reinterpret_cast<cuda::Address>(from), bytes, root_->stream),
                "cuMemcpyDtoH");
    root_->wait();
  }

  std::unique_ptr<Event> launch(Kernel& kernel, const Grid& grid,
                                std::span<const Argument> arguments, bool timed) override {
    const auto& known = static_cast<CudaKernel&>(kernel);
    root_->use();
    // Each array is two arguments: where it begins, and at which element (never used here, where
    // addresses say it all).
    // Every value in eight bytes of its own; the driver reads as many as the parameter has.
    std::vector<uint64_t> values;
    for (const Argument& argument : arguments) {
      std::visit(
          [&](auto value) {
            values.push_back(0);
            std::memcpy(&values.back(), &value, sizeof(value));
            if constexpr (std::is_pointer_v<decltype(value)>) values.push_back(0);
          },
          argument);
    }
    // Only now: the vector may have moved while it grew.
    std::vector<void*> pointers;
    for (uint64_t& value : values) pointers.push_back(&value);
    const auto count = [](int64_t n) { return static_cast<uint32_t>(n); };
    auto event = timed ? std::make_unique<CudaEvent>(root_) : nullptr;
    if (event != nullptr) event->begin();
    cuda::check(root_->cu.launch(known.function, count(grid.groups[0]), count(grid.groups[1]),
                                 count(grid.groups[2]), count(grid.group[0]), count(grid.group[1]),
                                 count(grid.group[2]), 0, root_->stream, pointers.data(), nullptr),
                ("cuLaunchKernel " + known.name).c_str());
    if (event != nullptr) event->end();
    return event;
  }

  void finish() override {
    root_->use();
    root_->wait();
  }

 private:
  SharedRoot root_;
};

}  // namespace

std::shared_ptr<Device> open_cuda(const CudaDevice& device) {
  return std::make_shared<CudaRunner>(device);
}

}  // namespace trainyard::device
