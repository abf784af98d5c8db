// The few functions of OpenCL 1.2 (and of 2.0, where they are there) that are used, from a library
// that is opened at run time: neither headers nor library are needed to build or start the program.
// Numbers are those of the standard.
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
inline constexpr uint32_t kDeviceLocalMemory = 0x1023;
inline constexpr uint32_t kDeviceName = 0x102B;
inline constexpr uint32_t kDriverVersion = 0x102D;
inline constexpr uint32_t kDeviceVersion = 0x102F;
inline constexpr uint32_t kDeviceDoubles = 0x1032;
inline constexpr uint32_t kDeviceUnifiedMemory = 0x1035;
inline constexpr uint32_t kDeviceSharedMemory = 0x1053;
inline constexpr uint64_t kSharedCoarse = 1 << 0;
inline constexpr uint64_t kSharedFine = 1 << 1;
inline constexpr uint64_t kSharedFineFlag = 1 << 10;
inline constexpr uint32_t kPlatformName = 0x0902;
inline constexpr uint64_t kQueueProfiling = 1 << 1;
inline constexpr uint64_t kReadWrite = 1 << 0;
inline constexpr uint64_t kAllocHostMemory = 1 << 4;
inline constexpr uint64_t kMapRead = 1 << 0;
inline constexpr uint64_t kMapWrite = 1 << 1;
inline constexpr uint32_t kBinarySizes = 0x1165;
inline constexpr uint32_t kBinaries = 0x1166;
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
  Handle (*create_from_binary)(Handle, uint32_t, const Handle*, const size_t*,
                               const unsigned char**, int32_t*, int32_t*);
  int32_t (*program_info)(Handle, uint32_t, size_t, void*, size_t*);
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
  // Of OpenCL 2.0; null if the library does not have them.
  void* (*shared_alloc)(Handle, uint64_t, size_t, uint32_t);
  void (*shared_free)(Handle, void*);
  int32_t (*set_shared)(Handle, uint32_t, const void*);
  int32_t (*shared_map)(Handle, uint32_t, uint64_t, void*, size_t, uint32_t, const Handle*,
                        Handle*);
  int32_t (*shared_unmap)(Handle, void*, uint32_t, const Handle*, Handle*);
};

// Null if libOpenCL.so.1 is missing or lacks a function; opened once and never closed.
const Library* library();

// Throws Failure that names the call and the code, and says what a few of the codes mean.
void check(int32_t code, const char* call);

}  // namespace trainyard::device::cl
