#include "engine/device/opencl_buffer.h"

#include <sys/mman.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::device {
namespace {

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

}  // namespace

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

}  // namespace trainyard::device
