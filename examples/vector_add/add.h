// What the four programs share: the inputs, the check of the result, a stopwatch, and the line of
// CSV they print.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

// From the command line, in millions; 1 if nothing is given.
inline long elements_of(int argc, char** argv) {
  const double millions = argc > 1 ? std::atof(argv[1]) : 1;
  const long elements = std::lround(millions * 1e6);
  if (elements < 1) {
    std::fprintf(stderr, "usage: %s MILLIONS, as 5 or 0.5\n", argv[0]);
    std::exit(2);
  }
  return elements;
}

// Small numbers that float holds exactly, so that sums are exact too.
inline void fill(float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) {
    x[i] = 1.0f + static_cast<float>(i % 8) / 8.0f;
    y[i] = 2.0f - static_cast<float>(i % 16) / 16.0f;
  }
}

inline bool right(const float* z, long n) {
  for (long i = 0; i < n; ++i) {
    const float expected =
        1.0f + static_cast<float>(i % 8) / 8.0f + (2.0f - static_cast<float>(i % 16) / 16.0f);
    if (z[i] != expected) return false;
  }
  return true;
}

inline double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void print_heading() {
  std::printf("program,launch,memory,elements,to_device_ms,kernel_ms,from_device_ms,result\n");
}

inline void print_row(const char* program, const char* launch, const char* memory, long n,
                      double to_device_ms, double kernel_ms, double from_device_ms, bool is_right) {
  std::printf("%s,%s,%s,%ld,%.4f,%.4f,%.4f,%s\n", program, launch, memory, n, to_device_ms,
              kernel_ms, from_device_ms, is_right ? "right" : "wrong");
}
