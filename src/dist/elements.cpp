#include "dist/elements.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace trainyard::dist {
namespace {

template <typename T>
void add_values(T* __restrict into, const T* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] += from[i];
}

// Sixteen bytes of numbers, added together.
template <typename T>
struct Vector {
  typedef T Type __attribute__((vector_size(16)));
};

// The sum of what lies at element i of N parts, aligned or not, goes to element i of each.
template <typename Value, size_t N, typename T>
inline void sum_at(const std::array<T*, N>& parts, int64_t i) {
  Value sum;
  std::memcpy(&sum, parts[0] + i, sizeof(Value));
  for (size_t p = 1; p < N; ++p) {
    Value next;
    std::memcpy(&next, parts[p] + i, sizeof(Value));
    sum += next;
  }
  for (size_t p = 0; p < N; ++p) std::memcpy(parts[p] + i, &sum, sizeof(Value));
}

// One pass over N parts, for numbers of parts known when compiling: every line is touched once.
template <size_t N, typename T>
void sum_in_place_n(std::span<std::byte* const> bytes, int64_t count) {
  std::array<T*, N> parts{};
  for (size_t p = 0; p < N; ++p) parts[p] = reinterpret_cast<T*>(bytes[p]);
  using Wide = typename Vector<T>::Type;
  constexpr int64_t kStep = sizeof(Wide) / sizeof(T);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) sum_at<Wide>(parts, i);
  for (; i < count; ++i) sum_at<T>(parts, i);
}

// Elements summed at a time otherwise: the running sum stays in the first-level cache, and each
// part is read for long enough to be fetched ahead.
constexpr int64_t kBlock = 2048;

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

template <typename T>
void sum_in_place_of(std::span<std::byte* const> parts, int64_t count) {
  if (parts.size() == 2) return sum_in_place_n<2, T>(parts, count);
  if (parts.size() == 3) return sum_in_place_n<3, T>(parts, count);
  if (parts.size() == 4) return sum_in_place_n<4, T>(parts, count);
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
