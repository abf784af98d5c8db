// What the two programs for CUDA share: the kernel, its launches, and how errors end the program.
#pragma once

#include "add.h"

// Each thread begins at its own number and steps by the number of threads, so that any launch
// covers any length: neighbors in a warp read neighbors in memory.
__global__ void add(const float* x, const float* y, float* z, long n) {
  const long stride = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    z[i] = x[i] + y[i];
}

#define CHECK(call)                                                      \
  do {                                                                   \
    const cudaError_t code = (call);                                     \
    if (code != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(code));                            \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

struct Launch {
  const char* name;
  unsigned blocks;
  unsigned threads;
};

// Milliseconds by the clock of the device.
inline float time_add(const Launch& launch, const float* x, const float* y, float* z, long n) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  add<<<launch.blocks, launch.threads>>>(x, y, z, n);
  CHECK(cudaGetLastError());  // of the launch itself
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));  // errors of the kernel show here
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return ms;
}
