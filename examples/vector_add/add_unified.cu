// Adds two vectors on a GPU in memory that host and device share, with and without sending pages
// ahead. Build: nvcc -O2 add_unified.cu
#include "add_cuda.h"

// To a device, or to the host (cudaCpuDeviceId). CUDA 13 changed how the place is named.
static cudaError_t send_ahead(const void* data, size_t bytes, int device) {
#if CUDART_VERSION >= 13000
  cudaMemLocation place = {};
  place.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device == cudaCpuDeviceId ? 0 : device;
  return cudaMemPrefetchAsync(data, bytes, place, 0);
#else
  return cudaMemPrefetchAsync(data, bytes, device);
#endif
}

int main(int argc, char** argv) {
  const long n = elements_of(argc, argv);
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  int device = 0;
  int can_prefetch = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&can_prefetch, cudaDevAttrConcurrentManagedAccess, device));

  const Launch launches[] = {
      {"1x1", 1, 1}, {"1x256", 1, 256}, {"Nx256", static_cast<unsigned>((n + 255) / 256), 256}};
  bool all_right = true;
  print_heading();
  for (const bool prefetch : {false, true}) {
    if (prefetch && !can_prefetch) continue;
    for (const Launch& launch : launches) {
      // New memory for each: pages lie nowhere until the host writes them, and move when the device
      // touches them.
      float *x, *y, *z;
      CHECK(cudaMallocManaged(&x, bytes));
      CHECK(cudaMallocManaged(&y, bytes));
      CHECK(cudaMallocManaged(&z, bytes));
      fill(x, y, n);
      double begin = now_ms();
      if (prefetch) {
        CHECK(send_ahead(x, bytes, device));
        CHECK(send_ahead(y, bytes, device));
        CHECK(send_ahead(z, bytes, device));
        CHECK(cudaDeviceSynchronize());
      }
      const double there = now_ms() - begin;
      const float kernel =
          time_add(launch, x, y, z, n);  // with page faults, unless the pages are there
      begin = now_ms();
      if (prefetch) {
        CHECK(send_ahead(z, bytes, cudaCpuDeviceId));
        CHECK(cudaDeviceSynchronize());
      }
      volatile float sink = 0;
      for (long i = 0; i < n; i += 1024) sink = sink + z[i];  // brings every page back
      const double back = now_ms() - begin;
      const bool is_right = right(z, n);
      all_right = all_right && is_right;
      print_row("add_unified.cu", launch.name, prefetch ? "prefetched" : "managed", n, there,
                kernel, back, is_right);
      CHECK(cudaFree(x));
      CHECK(cudaFree(y));
      CHECK(cudaFree(z));
    }
  }
  return all_right ? 0 : 1;
}
