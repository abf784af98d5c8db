// The few functions of CUDA's driver and of NVRTC that are used, from libraries that are opened at
// run time: neither headers nor libraries are needed to build or start the program. Names and
// numbers are those of the driver's interface; a test compares them with NVIDIA's headers where
// these are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trainyard::device::cuda {

using Handle = void*;      // context, module, function, stream, event, program of NVRTC
using Address = uint64_t;  // of the device

inline constexpr int32_t kMaxGroup = 1;
inline constexpr int32_t kLocalMemory = 8;
inline constexpr int32_t kClockKhz = 13;
inline constexpr int32_t kComputeUnits = 16;
inline constexpr int32_t kIntegrated = 18;
inline constexpr int32_t kMajor = 75;
inline constexpr int32_t kMinor = 76;
inline constexpr int32_t kManagedMemory = 83;
inline constexpr int32_t kConcurrentManaged = 89;
inline constexpr uint32_t kAttachGlobal = 1;
inline constexpr int32_t kHostDevice = -1;  // where pages are sent that go home

struct Library {
  int32_t (*init)(uint32_t);
  int32_t (*driver_version)(int32_t*);
  int32_t (*device_count)(int32_t*);
  int32_t (*get_device)(int32_t*, int32_t);
  int32_t (*device_name)(char*, int32_t, int32_t);
  int32_t (*device_memory)(size_t*, int32_t);
  int32_t (*attribute)(int32_t*, int32_t, int32_t);
  int32_t (*retain_context)(Handle*, int32_t);
  int32_t (*release_context)(int32_t);
  int32_t (*use_context)(Handle);
  int32_t (*alloc)(Address*, size_t);
  int32_t (*alloc_managed)(Address*, size_t, uint32_t);
  int32_t (*prefetch)(Address, size_t, int32_t, Handle);
  int32_t (*free)(Address);
  int32_t (*to_device)(Address, const void*, size_t, Handle);
  int32_t (*to_host)(void*, Address, size_t, Handle);
  int32_t (*create_stream)(Handle*, uint32_t);
  int32_t (*destroy_stream)(Handle);
  int32_t (*synchronize)(Handle);
  int32_t (*create_event)(Handle*, uint32_t);
  int32_t (*record)(Handle, Handle);
  int32_t (*wait_event)(Handle);
  int32_t (*elapsed)(float*, Handle, Handle);
  int32_t (*destroy_event)(Handle);
  int32_t (*load_module)(Handle*, const void*);
  int32_t (*unload_module)(Handle);
  int32_t (*get_function)(Handle*, Handle, const char*);
  int32_t (*launch)(Handle, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                    Handle, void**, void**);
  int32_t (*error_name)(int32_t, const char**);
  int32_t (*error_text)(int32_t, const char**);
};

struct Compiler {
  int32_t (*version)(int32_t*, int32_t*);
  int32_t (*create)(Handle*, const char*, const char*, int32_t, const char* const*,
                    const char* const*);
  int32_t (*compile)(Handle, int32_t, const char* const*);
  int32_t (*result_size)(Handle, size_t*);
  int32_t (*result)(Handle, char*);
  int32_t (*log_size)(Handle, size_t*);
  int32_t (*log)(Handle, char*);
  int32_t (*destroy)(Handle*);
  // Null before CUDA 11.2.
  int32_t (*num_architectures)(int32_t*);
  int32_t (*architectures)(int32_t*);
};

// Null if libcuda.so.1 is missing or lacks a function; opened once and never closed.
const Library* library();
// Null if there is no libnvrtc.so of CUDA 10 to 13, in the loader's path or under /usr/local/cuda.
const Compiler* compiler();

// Throws Failure that names the call and what the driver says of the code.
void check(int32_t code, const char* call);

}  // namespace trainyard::device::cuda
