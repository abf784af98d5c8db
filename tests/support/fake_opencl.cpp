// A libOpenCL.so.1 with one device whose memory is the host's, for error paths that no machine
// shows on demand.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/fake_driver.h"

using trainyard::fake::fails;

namespace {

constexpr int kDeviceNotAvailable = -2;
constexpr int kNoMemory = -4;
constexpr int kOutOfResources = -5;
constexpr int kBuildFailure = -11;
constexpr int kNoPlatform = -1001;
constexpr int kQueueGone = -36;

struct Memory {
  std::vector<char> bytes;
};
struct Kernel {
  std::string name;
  std::array<std::array<char, 8>, 16> arguments = {};
};
int launches = 0;
int anything = 0;
constexpr const char* kLog = "kernels.cl:1: error: a fake one";

int give(const void* value, size_t size, size_t room, void* into, size_t* needed) {
  if (needed != nullptr) *needed = size;
  if (into != nullptr) std::memcpy(into, value, size < room ? size : room);
  return 0;
}

int give_text(const char* text, size_t room, void* into, size_t* needed) {
  return give(text, std::strlen(text) + 1, room, into, needed);
}

template <typename T>
int give_number(T number, size_t room, void* into, size_t* needed) {
  return give(&number, sizeof(number), room, into, needed);
}

void* made(int32_t* code, int32_t value = 0) {
  *code = value;
  return value == 0 ? &anything : nullptr;
}

bool is_lost() {
  return fails("lost") && launches > 1;
}

}  // namespace

extern "C" {

int clGetPlatformIDs(uint32_t room, void** platforms, uint32_t* count) {
  if (fails("wrong_driver")) return kNoPlatform;
  if (count != nullptr) *count = 1;
  if (room > 0 && platforms != nullptr) platforms[0] = &anything;
  return 0;
}
int clGetPlatformInfo(void*, uint32_t, size_t room, void* into, size_t* needed) {
  return give_text("Fake Platform", room, into, needed);
}
int clGetDeviceIDs(void*, uint64_t, uint32_t room, void** devices, uint32_t* count) {
  if (fails("no_device")) return -1;
  if (count != nullptr) *count = 1;
  if (room > 0 && devices != nullptr) devices[0] = &anything;
  return 0;
}
int clGetDeviceInfo(void*, uint32_t key, size_t room, void* into, size_t* needed) {
  switch (key) {
    case 0x1000:
      return give_number<uint64_t>(1 << 2, room, into, needed);
    case 0x1002:
      return give_number<uint32_t>(16, room, into, needed);
    case 0x1004:
      return give_number<size_t>(1024, room, into, needed);
    case 0x1010:
    case 0x101F:
      return give_number<uint64_t>(uint64_t{1} << 34, room, into, needed);
    case 0x1035:
      return give_number<uint32_t>(1, room, into, needed);
    case 0x102B:
      return give_text("Fake GPU", room, into, needed);
    case 0x102D:
    case 0x102F:
      return give_text("1.2", room, into, needed);
    default:
      return give_number<uint64_t>(0, room, into, needed);
  }
}
void* clCreateContext(const intptr_t*, uint32_t, void* const*, void*, void*, int32_t* code) {
  return made(code, fails("unavailable") ? kDeviceNotAvailable : 0);
}
void* clCreateCommandQueue(void*, void*, uint64_t, int32_t* code) {
  return made(code);
}
void* clCreateProgramWithSource(void*, uint32_t, const char**, const size_t*, int32_t* code) {
  return made(code);
}
void* clCreateProgramWithBinary(void*, uint32_t, void* const*, const size_t*, const unsigned char**,
                                int32_t* status, int32_t* code) {
  *status = 0;
  return made(code);
}
int clGetProgramInfo(void*, uint32_t key, size_t, void* into, size_t*) {
  if (key == 0x1165) {
    const size_t size = 4;
    std::memcpy(into, &size, sizeof(size));
  } else {
    std::memcpy(*static_cast<char**>(into), "fake", 4);
  }
  return 0;
}
int clBuildProgram(void*, uint32_t, void* const*, const char*, void*, void*) {
  return fails("bad_build") ? kBuildFailure : 0;
}
int clGetProgramBuildInfo(void*, void*, uint32_t, size_t room, void* into, size_t* needed) {
  return give_text(kLog, room, into, needed);
}
void* clCreateKernel(void*, const char* name, int32_t* code) {
  *code = 0;
  return new Kernel{name};
}
int clSetKernelArg(void* kernel, uint32_t index, size_t size, const void* value) {
  std::memcpy(static_cast<Kernel*>(kernel)->arguments.at(index).data(), value, size);
  return 0;
}
void* clCreateBuffer(void*, uint64_t, size_t bytes, void*, int32_t* code) {
  *code = fails("out_of_memory") ? kNoMemory : 0;
  return *code == 0 ? new Memory{std::vector<char>(bytes)} : nullptr;
}
int clEnqueueWriteBuffer(void*, void* memory, uint32_t, size_t offset, size_t bytes,
                         const void* from, uint32_t, void* const*, void**) {
  std::memcpy(static_cast<Memory*>(memory)->bytes.data() + offset, from, bytes);
  return 0;
}
int clEnqueueReadBuffer(void*, void* memory, uint32_t, size_t offset, size_t bytes, void* to,
                        uint32_t, void* const*, void**) {
  std::memcpy(to, static_cast<Memory*>(memory)->bytes.data() + offset, bytes);
  return is_lost() ? kQueueGone : 0;
}
void* clEnqueueMapBuffer(void*, void* memory, uint32_t, uint64_t, size_t, size_t, uint32_t,
                         void* const*, void**, int32_t* code) {
  *code = 0;
  return static_cast<Memory*>(memory)->bytes.data();
}
int clEnqueueUnmapMemObject(void*, void*, void*, uint32_t, void* const*, void**) {
  return 0;
}
int clEnqueueNDRangeKernel(void*, void* kernel, uint32_t axes, const size_t*, const size_t* items,
                           const size_t*, uint32_t, void* const*, void** event) {
  if (fails("failed_launch")) return kOutOfResources;
  ++launches;
  const auto& known = *static_cast<Kernel*>(kernel);
  const auto number = [&]<typename T>(size_t i, T) {
    T value;
    // Also pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
    std::memcpy(&value, known.arguments.at(i).data(), sizeof(value));
    return value;
  };
  // Arrays are a memory object and an element where they begin.
  const auto array = [&](size_t i) {
    auto* memory = number(i, static_cast<Memory*>(nullptr));
    return memory == nullptr
               ? nullptr
               : reinterpret_cast<float*>(memory->bytes.data()) + number(i + 1, int64_t{});
  };
  int64_t count = 1;
  for (uint32_t axis = 0; axis < axes; ++axis) count *= static_cast<int64_t>(items[axis]);
  trainyard::fake::run_vector_kernel(
      known.name, {array(0), array(2), array(4), number(6, float{}), number(7, int64_t{})}, count);
  if (event != nullptr) *event = &anything;
  return 0;
}
int clWaitForEvents(uint32_t, void* const*) {
  return is_lost() ? kQueueGone : 0;
}
int clGetEventProfilingInfo(void*, uint32_t key, size_t room, void* into, size_t* needed) {
  return give_number<uint64_t>(key == 0x1282 ? 1000 : 251000, room, into, needed);
}
int clFinish(void*) {
  return is_lost() ? kQueueGone : 0;
}
int clReleaseEvent(void*) {
  return 0;
}
int clReleaseMemObject(void* memory) {
  delete static_cast<Memory*>(memory);
  return 0;
}
int clReleaseKernel(void* kernel) {
  delete static_cast<Kernel*>(kernel);
  return 0;
}
int clReleaseProgram(void*) {
  return 0;
}
int clReleaseCommandQueue(void*) {
  return 0;
}
int clReleaseContext(void*) {
  return 0;
}

}  // extern "C"
