// Adds two vectors on a GPU with copies there and back, in three launches. Build: nvcc -O2 add.cu
#include <vector>

#include "add_cuda.h"

int main(int argc, char** argv) {
  const long n = elements_of(argc, argv);
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  std::vector<float> x(n), y(n), z(n);
  fill(x.data(), y.data(), n);
  float *device_x, *device_y, *device_z;
  CHECK(cudaMalloc(&device_x, bytes));
  CHECK(cudaMalloc(&device_y, bytes));
  CHECK(cudaMalloc(&device_z, bytes));

  const Launch launches[] = {
      {"1x1", 1, 1}, {"1x256", 1, 256}, {"Nx256", static_cast<unsigned>((n + 255) / 256), 256}};
  bool all_right = true;
  time_add(launches[1], device_x, device_y, device_z, 1);  // the first launch loads the kernel
  print_heading();
  for (const Launch& launch : launches) {
    CHECK(cudaMemset(device_z, 0, bytes));
    double begin = now_ms();
    CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));
    const double there = now_ms() - begin;
    const float kernel = time_add(launch, device_x, device_y, device_z, n);
    begin = now_ms();
    CHECK(cudaMemcpy(z.data(), device_z, bytes, cudaMemcpyDeviceToHost));
    const double back = now_ms() - begin;
    const bool is_right = right(z.data(), n);
    all_right = all_right && is_right;
    print_row("add.cu", launch.name, "copies", n, there, kernel, back, is_right);
  }
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));
  CHECK(cudaFree(device_z));
  return all_right ? 0 : 1;
}
