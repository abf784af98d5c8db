// Mean and variance, as every normalization takes them.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

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

// The flat index of element i (counted over batch and positions) of channel `channel` of N x C x …
// data.
inline int64_t channel_element(const Shape& shape, int64_t channel, int64_t i) {
  const int64_t inner = shape.num_elements(2, shape.rank());
  return (i / inner * shape[1] + channel) * inner + i % inner;
}

// How many elements a channel has.
inline int64_t channel_size(const Shape& shape) {
  return shape[0] * shape.num_elements(2, shape.rank());
}

template <typename T>
Moments channel_moments(const TensorView& x, int64_t channel) {
  return moments_of(channel_size(*x.shape), [&](int64_t i) {
    return static_cast<double>(x.as<T>()[channel_element(*x.shape, channel, i)]);
  });
}

}  // namespace trainyard::kernels::reference
