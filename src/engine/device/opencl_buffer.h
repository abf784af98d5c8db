// Buffers of OpenCL, and how a kernel is told of an address within one.
#pragma once

#include <map>
#include <mutex>

#include "engine/device/device.h"
#include "engine/device/opencl_library.h"

namespace trainyard::device {

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

}  // namespace trainyard::device
