// The few functions of OpenCL 1.2 that are used, from a library that is opened at run time: neither
// headers nor library are needed to build or start the program. Numbers are those of the standard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trainyard::device::cl {

using Handle = void*;  // platform, device, context, queue, program, kernel, memory, event

inline constexpr uint64_t kAllDevices = 0xFFFFFFFF;
inline constexpr uint64_t kTypeCpu = 1 << 1;
inline constexpr uint32_t kDeviceType = 0x1000;
inline constexpr uint32_t kDeviceComputeUnits = 0x1002;
inline constexpr uint32_t kDeviceMaxWorkGroup = 0x1004;
inline constexpr uint32_t kDeviceMaxAllocation = 0x1010;
inline constexpr uint32_t kDeviceMemory = 0x101F;
inline constexpr uint32_t kDeviceName = 0x102B;
inline constexpr uint32_t kDeviceVersion = 0x102F;
inline constexpr uint32_t kPlatformName = 0x0902;
inline constexpr uint64_t kQueueProfiling = 1 << 1;
inline constexpr uint64_t kReadWrite = 1 << 0;
inline constexpr uint64_t kAllocHostMemory = 1 << 4;
inline constexpr uint64_t kMapRead = 1 << 0;
inline constexpr uint64_t kMapWrite = 1 << 1;
inline constexpr uint32_t kBuildLog = 0x1183;
inline constexpr uint32_t kProfilingStart = 0x1282;
inline constexpr uint32_t kProfilingEnd = 0x1283;

struct Library {
  int32_t (*get_platforms)(uint32_t, Handle*, uint32_t*);
  int32_t (*platform_info)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*get_devices)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  int32_t (*device_info)(Handle, uint32_t, size_t, void*, size_t*);
  Handle (*create_context)(const intptr_t*, uint32_t, const Handle*, void*, void*, int32_t*);
  Handle (*create_queue)(Handle, Handle, uint64_t, int32_t*);
  Handle (*create_program)(Handle, uint32_t, const char**, const size_t*, int32_t*);
  int32_t (*build_program)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int32_t (*build_info)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  Handle (*create_kernel)(Handle, const char*, int32_t*);
  int32_t (*set_argument)(Handle, uint32_t, size_t, const void*);
  Handle (*create_buffer)(Handle, uint64_t, size_t, void*, int32_t*);
  int32_t (*write_buffer)(Handle, Handle, uint32_t, size_t, size_t, const void*, uint32_t,
                          const Handle*, Handle*);
  int32_t (*read_buffer)(Handle, Handle, uint32_t, size_t, size_t, void*, uint32_t, const Handle*,
                         Handle*);
  void* (*map_buffer)(Handle, Handle, uint32_t, uint64_t, size_t, size_t, uint32_t, const Handle*,
                      Handle*, int32_t*);
  int32_t (*unmap)(Handle, Handle, void*, uint32_t, const Handle*, Handle*);
  int32_t (*run_kernel)(Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*,
                        uint32_t, const Handle*, Handle*);
  int32_t (*wait_events)(uint32_t, const Handle*);
  int32_t (*event_times)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*finish)(Handle);
  int32_t (*release_event)(Handle);
  int32_t (*release_memory)(Handle);
  int32_t (*release_kernel)(Handle);
  int32_t (*release_program)(Handle);
  int32_t (*release_queue)(Handle);
  int32_t (*release_context)(Handle);
};

// Null if libOpenCL.so.1 is missing or lacks a function; opened once and never closed.
const Library* library();

// Throws Failure that names the call and the code.
void check(int32_t code, const char* call);

}  // namespace trainyard::device::cl
