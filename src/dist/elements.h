// A run of float32 or float64 numbers, and the sums that collectives make of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace trainyard::dist {

// Does not own its memory.
struct Elements {
  std::byte* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;

  static Elements of(std::span<float> values) {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(values.size()),
            DType::kF32};
  }
  static Elements of(std::span<double> values) {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(values.size()),
            DType::kF64};
  }

  int64_t item() const { return dtype == DType::kF64 ? 8 : 4; }
  std::span<std::byte> bytes() const { return {data, static_cast<size_t>(count * item())}; }
  Elements range(int64_t begin, int64_t end) const {
    return {data + begin * item(), end - begin, dtype};
  }
  // The i-th of n chunks that differ by one element at most.
  Elements chunk(int64_t i, int64_t n) const { return range(count * i / n, count * (i + 1) / n); }
};

// into += from, element by element; as many of the same type (TY_CHECKed).
void add(Elements into, Elements from);

// out = parts[0] + parts[1] + …, in this order. The parts hold `out.count` elements of its type,
// at least one part, and may be `out` itself.
void sum_parts(Elements out, std::span<const std::byte* const> parts);

// Every part = the sum of all parts, in their order: `count` elements of `dtype` each.
void sum_in_place(std::span<std::byte* const> parts, int64_t count, DType dtype);

}  // namespace trainyard::dist
