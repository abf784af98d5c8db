// Element types that are kept and converted but not computed with: floats of eight and four bits,
// integers of four and two. In memory an element takes a byte, in its low bits; files pack the
// smaller ones.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace trainyard {

// How numbers that a type cannot hold are brought into it.
struct NarrowRule {
  // Beyond the range: the largest number; otherwise infinity, or not a number.
  bool saturate = true;
  // Of f8e8m0 alone, which holds powers of two.
  enum class Round : uint8_t { kUp, kDown, kNearest } round = Round::kUp;
};

// The number an element's bits stand for, and the bits of the nearest element (ties to even).
// Integers are cut, and keep their low bits when they are too large.
float narrow_to_f32(DType dtype, uint8_t bits);
uint8_t f32_to_narrow(DType dtype, float value, const NarrowRule& rule = {});

// Bits of one element as files pack it: 8, 4 or 2; 0 for a type that is not narrow.
int narrow_bits(DType dtype);
// Bytes of `count` elements in a file.
int64_t packed_bytes(DType dtype, int64_t count);
// The first element is in the low bits of the first byte. `packed` holds packed_bytes().
void unpack_narrow(DType dtype, std::span<const uint8_t> packed, std::span<uint8_t> elements);
void pack_narrow(DType dtype, std::span<const uint8_t> elements, std::span<uint8_t> packed);

}  // namespace trainyard
