// Adds two vectors on the processor: one thread, then all of them. Build: g++ -O2 -pthread add.cpp
#include "add.h"

#include <algorithm>
#include <thread>
#include <vector>

void add(const float* x, const float* y, float* z, long begin, long end) {
  for (long i = begin; i < end; ++i) z[i] = x[i] + y[i];
}

int main(int argc, char** argv) {
  const long n = elements_of(argc, argv);
  float* x = static_cast<float*>(std::malloc(n * sizeof(float)));
  float* y = static_cast<float*>(std::malloc(n * sizeof(float)));
  float* z = static_cast<float*>(std::malloc(n * sizeof(float)));
  if (x == nullptr || y == nullptr || z == nullptr) {
    std::fprintf(stderr, "no memory for three arrays of %ld floats\n", n);
    return 1;
  }
  fill(x, y, n);
  std::fill(z, z + n, 0.0f);  // its pages are there before the clock starts
  print_heading();

  double begin = now_ms();
  add(x, y, z, 0, n);
  print_row("add.cpp", "1 thread", "host", n, 0, now_ms() - begin, 0, right(z, n));

  // Each thread gets a part. Starting them is in the time: for short vectors it is most of it.
  const long threads = std::max(1u, std::thread::hardware_concurrency());
  std::fill(z, z + n, 0.0f);
  begin = now_ms();
  std::vector<std::thread> team;
  for (long t = 0; t < threads; ++t) {
    team.emplace_back(add, x, y, z, n * t / threads, n * (t + 1) / threads);
  }
  for (std::thread& thread : team) thread.join();
  const double took = now_ms() - begin;
  const bool is_right = right(z, n);
  print_row("add.cpp", "all threads", "host", n, 0, took, 0, is_right);
  std::free(x);
  std::free(y);
  std::free(z);
  return is_right ? 0 : 1;
}
