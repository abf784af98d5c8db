// Mean and variance, as every normalisation takes them.
#pragma once

#include <cstdint>

namespace trainyard::kernels::reference {

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population: divided by the count
};

// Of value(0) … value(count - 1).
template <typename F>
Moments moments_of(int64_t count, F&& value) {
  Moments moments;
  for (int64_t i = 0; i < count; ++i) moments.mean += value(i);
  moments.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = value(i) - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= static_cast<double>(count);
  return moments;
}

}  // namespace trainyard::kernels::reference
