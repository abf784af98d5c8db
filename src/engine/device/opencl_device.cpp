#include <map>
#include <mutex>
#include <sys/mman.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/device/device.h"
#include "engine/device/opencl_devices.h"
#include "engine/device/opencl_library.h"
#include "engine/device/program_cache.h"

namespace trainyard::device {
namespace {

// Buffers of OpenCL, and how a kernel is told of an address within one.
class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(const cl::Library& cl, cl::Handle context, cl::Handle queue, size_t bytes,
               Sharing sharing);
  ~OpenClBuffer() override;

  std::byte* address() const override { return address_; }
  size_t bytes() const override { return bytes_; }
  std::byte* open() override;
  void close() override;
  // Null for shared virtual memory, whose address is its name.
  cl::Handle memory() const { return memory_; }

 private:
  bool is_virtual() const { return sharing_ == Sharing::kCoarse || sharing_ == Sharing::kFine; }

  const cl::Library& cl_;
  cl::Handle context_;
  cl::Handle queue_;
  size_t bytes_;
  Sharing sharing_;
  cl::Handle memory_ = nullptr;
  std::byte* address_ = nullptr;
  std::byte* mapped_ = nullptr;
};

// Where an address is.
struct OpenClPlace {
  const OpenClBuffer* buffer = nullptr;
  size_t offset = 0;
};

// The buffers of a device by address.
class OpenClBuffers {
 public:
  void add(const OpenClBuffer& buffer);
  void remove(const OpenClBuffer& buffer);
  // TY_CHECKs that there is one.
  OpenClPlace find(const void* address) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, const OpenClBuffer*> by_address_;
};

// OpenCL's memory objects have no addresses. Each gets a range of addresses that nobody may touch,
// so that places within it can be named as everywhere else, and a host that takes one for memory of
// its own ends at once.
std::byte* reserve_addresses(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    throw_failure("the system has no {} of addresses left", bytes_text(static_cast<double>(bytes)));
  }
  return static_cast<std::byte*>(at);
}

OpenClBuffer::OpenClBuffer(const cl::Library& cl, cl::Handle context, cl::Handle queue,
                           size_t bytes, Sharing sharing)
    : cl_(cl), context_(context), queue_(queue), bytes_(bytes), sharing_(sharing) {
  if (is_virtual()) {
    const uint64_t fine = sharing == Sharing::kFine ? cl::kSharedFineFlag : 0;
    address_ = static_cast<std::byte*>(cl.shared_alloc(context, cl::kReadWrite | fine, bytes, 0));
    if (address_ == nullptr) {
      throw_failure("OpenCL: clSVMAlloc gives no {}; try fewer elements",
                    bytes_text(static_cast<double>(bytes)));
    }
    return;
  }
  int32_t code = 0;
  const uint64_t host = sharing == Sharing::kMapped ? cl::kAllocHostMemory : 0;
  memory_ = cl.create_buffer(context, cl::kReadWrite | host, bytes, nullptr, &code);
  cl::check(code, "clCreateBuffer");
  address_ = reserve_addresses(bytes);
}

OpenClBuffer::~OpenClBuffer() {
  if (is_virtual()) {
    cl_.finish(queue_);  // clSVMFree does not wait for kernels
    cl_.shared_free(context_, address_);
  } else {
    cl_.release_memory(memory_);
    munmap(address_, bytes_);
  }
}

std::byte* OpenClBuffer::open() {
  TY_CHECK(sharing_ != Sharing::kNone, "a buffer that is not shared");
  constexpr uint64_t kBoth = cl::kMapRead | cl::kMapWrite;
  if (sharing_ == Sharing::kMapped) {
    int32_t code = 0;
    mapped_ = static_cast<std::byte*>(
        cl_.map_buffer(queue_, memory_, 1, kBoth, 0, bytes_, 0, nullptr, nullptr, &code));
    cl::check(code, "clEnqueueMapBuffer");
    return mapped_;
  }
  if (sharing_ == Sharing::kCoarse) {
    cl::check(cl_.shared_map(queue_, 1, kBoth, address_, bytes_, 0, nullptr, nullptr),
              "clEnqueueSVMMap");
  } else {
    cl::check(cl_.finish(queue_), "clFinish");
  }
  return address_;
}

void OpenClBuffer::close() {
  if (sharing_ == Sharing::kMapped) {
    cl::check(cl_.unmap(queue_, memory_, mapped_, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  } else if (sharing_ == Sharing::kCoarse) {
    cl::check(cl_.shared_unmap(queue_, address_, 0, nullptr, nullptr), "clEnqueueSVMUnmap");
  }
  cl::check(cl_.finish(queue_), "clFinish");
}

void OpenClBuffers::add(const OpenClBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  by_address_[buffer.address()] = &buffer;
}

void OpenClBuffers::remove(const OpenClBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  by_address_.erase(buffer.address());
}

OpenClPlace OpenClBuffers::find(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  auto next = by_address_.upper_bound(at);
  TY_CHECK(next != by_address_.begin(), "an address of no buffer");
  const OpenClBuffer* buffer = std::prev(next)->second;
  const auto offset = static_cast<size_t>(at - buffer->address());
  TY_CHECK(offset < buffer->bytes(), "an address of no buffer");
  return {buffer, offset};
}

// Everything else of a device lives at most as long as these three.
struct OpenClRoot {
  // Order of release: queue, then context, after all that was enqueued is done.
  explicit OpenClRoot(const OpenClDevice& offered)
      : cl(*cl::library()), info(offered.info), id(offered.id) {
    int32_t code = 0;
    context = cl.create_context(nullptr, 1, &id, nullptr, nullptr, &code);
    cl::check(code, "clCreateContext");
    queue = cl.create_queue(context, id, cl::kQueueProfiling, &code);
    if (code != 0) cl.release_context(context);
    cl::check(code, "clCreateCommandQueue");
  }
  ~OpenClRoot() {
    cl.finish(queue);
    cl.release_queue(queue);
    cl.release_context(context);
  }
  OpenClRoot(const OpenClRoot&) = delete;
  OpenClRoot& operator=(const OpenClRoot&) = delete;

  const cl::Library& cl;
  DeviceInfo info;
  cl::Handle id;
  cl::Handle context = nullptr;
  cl::Handle queue = nullptr;
  OpenClBuffers buffers;
};

using Root = std::shared_ptr<OpenClRoot>;

// A buffer that its device knows by address.
// OpenCL 1 has no addresses that survive a kernel argument; buffers are found by the address that
// the rest of the program uses for them.
class KnownBuffer final : public Buffer {
 public:
  KnownBuffer(Root root, size_t bytes, Sharing sharing)
      : root_(std::move(root)), buffer_(root_->cl, root_->context, root_->queue, bytes, sharing) {
    root_->buffers.add(buffer_);
  }
  ~KnownBuffer() override { root_->buffers.remove(buffer_); }
  std::byte* address() const override { return buffer_.address(); }
  size_t bytes() const override { return buffer_.bytes(); }
  std::byte* open() override { return buffer_.open(); }
  void close() override { buffer_.close(); }

 private:
  Root root_;
  OpenClBuffer buffer_;
};

class OpenClEvent final : public Event {
 public:
  OpenClEvent(Root root, cl::Handle event) : root_(std::move(root)), event_(event) {}
  ~OpenClEvent() override { root_->cl.release_event(event_); }

  // Waits for the kernel. Times are the device's own, so that neither queue nor host count.
  double seconds() override {
    const cl::Library& cl = root_->cl;
    uint64_t begin = 0;
    uint64_t end = 0;
    cl::check(cl.wait_events(1, &event_), "a kernel");
    cl::check(cl.event_times(event_, cl::kProfilingStart, sizeof(begin), &begin, nullptr),
              "clGetEventProfilingInfo");
    cl::check(cl.event_times(event_, cl::kProfilingEnd, sizeof(end), &end, nullptr),
              "clGetEventProfilingInfo");
    return static_cast<double>(end - begin) * 1e-9;
  }

 private:
  Root root_;
  cl::Handle event_;
};

class OpenClKernel final : public Kernel {
 public:
  OpenClKernel(Root root, cl::Handle program, const std::string& name)
      : root_(std::move(root)), name_(name) {
    int32_t code = 0;
    kernel_ = root_->cl.create_kernel(program, name.c_str(), &code);
    cl::check(code, ("clCreateKernel " + name).c_str());
  }
  ~OpenClKernel() override { root_->cl.release_kernel(kernel_); }
  cl::Handle handle() const { return kernel_; }
  const std::string& name() const { return name_; }

 private:
  Root root_;
  std::string name_;
  cl::Handle kernel_ = nullptr;
};

class OpenClProgram final : public Program {
 public:
  OpenClProgram(Root root, const std::string& text) : root_(std::move(root)) {
    // All that a binary depends on: another device or driver must not be given it.
    const std::string key =
        root_->info.name + "\n" + root_->info.platform + "\n" + root_->info.version + "\n" + text;
    const auto known = program_cache().find(key);
    // A binary that a driver does not take any more is compiled anew; the cache is only a cache.
    if (known && take_binary(*known)) return;
    compile(text);
    program_cache().store(key, binary());
  }
  ~OpenClProgram() override {
    if (program_ != nullptr) root_->cl.release_program(program_);
  }

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    return std::make_unique<OpenClKernel>(root_, program_, name);
  }

 private:
  bool take_binary(const std::string& binary) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    const size_t size = binary.size();
    int32_t status = 0;
    int32_t code = 0;
    program_ =
        root_->cl.create_from_binary(root_->context, 1, &root_->id, &size, &bytes, &status, &code);
    if (code == 0 && status == 0 &&
        root_->cl.build_program(program_, 1, &root_->id, "", nullptr, nullptr) == 0) {
      return true;
    }
    if (code == 0) root_->cl.release_program(program_);
    program_ = nullptr;
    return false;
  }

  void compile(const std::string& text) {
    const char* source = text.c_str();
    int32_t code = 0;
    program_ = root_->cl.create_program(root_->context, 1, &source, nullptr, &code);
    cl::check(code, "clCreateProgramWithSource");
    code = root_->cl.build_program(program_, 1, &root_->id, "", nullptr, nullptr);
    if (code == 0) return;
    size_t size = 0;
    root_->cl.build_info(program_, root_->id, cl::kBuildLog, 0, nullptr, &size);
    std::string log(size, '\0');
    root_->cl.build_info(program_, root_->id, cl::kBuildLog, size, log.data(), nullptr);
    root_->cl.release_program(program_);
    program_ = nullptr;
    throw_failure("OpenCL: kernels do not build on {} (code {}):\n{}", root_->info.name, code,
                  log.c_str());
  }

  // Empty if the driver gives none: the program is then compiled in every process.
  std::string binary() const {
    size_t size = 0;
    if (root_->cl.program_info(program_, cl::kBinarySizes, sizeof(size), &size, nullptr) != 0) {
      return {};
    }
    std::string bytes(size, '\0');
    char* into = bytes.data();
    if (root_->cl.program_info(program_, cl::kBinaries, sizeof(into), &into, nullptr) != 0) {
      return {};
    }
    return bytes;
  }

  Root root_;
  cl::Handle program_ = nullptr;
};

class OpenClRunner final : public Device {
 public:
  explicit OpenClRunner(const OpenClDevice& offered)
      : root_(std::make_shared<OpenClRoot>(offered)), cl_(root_->cl) {}

  const DeviceInfo& info() const override { return root_->info; }

  std::unique_ptr<Buffer> allocate(size_t bytes, Sharing sharing) override {
    return std::make_unique<KnownBuffer>(root_, std::max<size_t>(bytes, 1), sharing);
  }

  std::shared_ptr<Program> build(const std::string& text) override {
    return std::make_shared<OpenClProgram>(root_, text);
  }

  // Blocking: `from` may be reused when this returns.
  void write(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const OpenClPlace place = root_->buffers.find(to);
    cl::check(cl_.write_buffer(root_->queue, place.buffer->memory(), 1, place.offset, bytes, from,
                               0, nullptr, nullptr),
              "clEnqueueWriteBuffer");
  }

  void read(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const OpenClPlace place = root_->buffers.find(from);
    cl::check(cl_.read_buffer(root_->queue, place.buffer->memory(), 1, place.offset, bytes, to, 0,
                              nullptr, nullptr),
              "clEnqueueReadBuffer");
  }

  std::unique_ptr<Event> launch(Kernel& kernel, const Grid& grid,
                                std::span<const Argument> arguments, bool timed) override {
    const auto& known = static_cast<OpenClKernel&>(kernel);
    std::array<size_t, 3> items = {};
    std::array<size_t, 3> group = {};
    for (size_t axis = 0; axis < 3; ++axis) {
      group.at(axis) = static_cast<size_t>(grid.group.at(axis));
      // OpenCL counts items, CUDA and Grid count groups.
      items.at(axis) = static_cast<size_t>(grid.groups.at(axis)) * group.at(axis);
    }
    cl::Handle event = nullptr;
    // A kernel keeps its arguments until it is enqueued.
    const std::lock_guard lock(launching_);
    give_arguments(known, arguments);
    cl::check(cl_.run_kernel(root_->queue, known.handle(), 3, nullptr, items.data(), group.data(),
                             0, nullptr, timed ? &event : nullptr),
              ("clEnqueueNDRangeKernel " + known.name()).c_str());
    return timed ? std::make_unique<OpenClEvent>(root_, event) : nullptr;
  }

  void finish() override { cl::check(cl_.finish(root_->queue), "clFinish"); }

 private:
  void give_arguments(const OpenClKernel& kernel, std::span<const Argument> arguments) {
    uint32_t next = 0;
    const auto set = [&](size_t size, const void* value) {
      cl::check(cl_.set_argument(kernel.handle(), next++, size, value), "clSetKernelArg");
    };
    for (const Argument& argument : arguments) {
      if (const auto* integer = std::get_if<int64_t>(&argument)) {
        set(sizeof(*integer), integer);
      } else if (const auto* number = std::get_if<float>(&argument)) {
        set(sizeof(*number), number);
      } else {
        const void* address = std::get<const void*>(argument);
        const OpenClPlace place = address != nullptr ? root_->buffers.find(address) : OpenClPlace();
        const cl::Handle memory = place.buffer != nullptr ? place.buffer->memory() : nullptr;
        // Buffers of shared virtual memory are passed by address, others by handle.
        if (address == nullptr || memory != nullptr) {
          set(sizeof(memory), &memory);
        } else {
          cl::check(cl_.set_shared(kernel.handle(), next++, place.buffer->address()),
                    "clSetKernelArgSVMPointer");
        }
        // Kernels take an offset in elements with each array, as a handle cannot point into a
        // buffer.
        const auto elements = static_cast<int64_t>(place.offset / sizeof(float));
        set(sizeof(elements), &elements);
      }
    }
  }

  Root root_;
  const cl::Library& cl_;
  std::mutex launching_;
};

}  // namespace

std::shared_ptr<Device> open_opencl(const OpenClDevice& device) {
  return std::make_shared<OpenClRunner>(device);
}

}  // namespace trainyard::device
