#include "dist/elements.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace trainyard::dist {
namespace {

// Elements summed at a time: the running sum stays in the first-level cache.
constexpr int64_t kBlock = 512;

template <typename T>
void add_values(T* __restrict into, const T* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] += from[i];
}

template <typename T>
void sum_block(T* __restrict sum, std::span<const std::byte* const> parts, int64_t begin,
               int64_t count) {
  const auto first = reinterpret_cast<const T*>(parts[0]) + begin;
  std::copy(first, first + count, sum);
  for (size_t p = 1; p < parts.size(); ++p) {
    add_values(sum, reinterpret_cast<const T*>(parts[p]) + begin, count);
  }
}

template <typename T>
void sum_parts_of(T* out, std::span<const std::byte* const> parts, int64_t count) {
  T sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    sum_block(sum, parts, begin, length);
    std::copy(sum, sum + length, out + begin);
  }
}

// Two parts need no running sum: one pass reads both and writes both.
template <typename T>
void sum_two(T* __restrict a, T* __restrict b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const T sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  }
}

template <typename T>
void sum_in_place_of(std::span<std::byte* const> parts, int64_t count) {
  if (parts.size() == 2) {
    sum_two(reinterpret_cast<T*>(parts[0]), reinterpret_cast<T*>(parts[1]), count);
    return;
  }
  T sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    sum_block(sum, {const_cast<const std::byte* const*>(parts.data()), parts.size()}, begin,
              length);
    for (std::byte* part : parts) std::copy(sum, sum + length, reinterpret_cast<T*>(part) + begin);
  }
}

}  // namespace

void add(Elements into, Elements from) {
  TY_CHECK(into.count == from.count && into.dtype == from.dtype, "{} {} elements plus {} {}",
           into.count, dtype_name(into.dtype), from.count, dtype_name(from.dtype));
  if (into.dtype == DType::kF64) {
    add_values(reinterpret_cast<double*>(into.data), reinterpret_cast<const double*>(from.data),
               into.count);
  } else {
    add_values(reinterpret_cast<float*>(into.data), reinterpret_cast<const float*>(from.data),
               into.count);
  }
}

void sum_parts(Elements out, std::span<const std::byte* const> parts) {
  if (out.dtype == DType::kF64) {
    sum_parts_of(reinterpret_cast<double*>(out.data), parts, out.count);
  } else {
    sum_parts_of(reinterpret_cast<float*>(out.data), parts, out.count);
  }
}

void sum_in_place(std::span<std::byte* const> parts, int64_t count, DType dtype) {
  if (dtype == DType::kF64) {
    sum_in_place_of<double>(parts, count);
  } else {
    sum_in_place_of<float>(parts, count);
  }
}

}  // namespace trainyard::dist
