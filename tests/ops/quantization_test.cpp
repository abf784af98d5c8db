// Cases of the operators between reals and eight-bit steps.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

constexpr DType kI8 = DType::kI8;

}  // namespace

OpCases quantization_cases() {
  return {
      // Ties go to even, everything else to the nearest; both ends are clamped.
      {.op = "QuantizeLinear",
       .inputs = {given({6}, {1, 3, -3, 1000, -1000, 2.9}), known({}, {2})},
       .outputs = {gives({6}, {0, 2, 0, 255, 0, 1}, kU8)}},
      {.op = "QuantizeLinear",
       .inputs = {given({2, 2}, {1, 1, -200, -200}), known({2}, {1, 2}), known({2}, {0, 5}, kI8)},
       .attributes = {{"axis", int64_t{-2}}},
       .outputs = {gives({2, 2}, {1, 1, -95, -95}, kI8)}},
      {.op = "QuantizeLinear",
       .inputs = {given({2}, {7, -7}, DType::kI32), known({1}, {3}), known({1}, {10}, kU8)},
       .outputs = {gives({2}, {12, 8}, kU8)}},
      {.op = "DequantizeLinear",
       .inputs = {given({2, 2}, {1, 2, 3, 4}, kI8), known({2}, {0.5, 2}), known({2}, {0, 1}, kI8)},
       .outputs = {gives({2, 2}, {0.5, 2, 1.5, 6})}},
      {.op = "DequantizeLinear",
       .inputs = {given({2}, {-3, 70000}, DType::kI32), known({}, {0.5})},
       .outputs = {gives({2}, {-1.5, 35000})}},
      // All zeros: nothing to scale.
      {.op = "DynamicQuantizeLinear",
       .inputs = {given({2}, {0, 0})},
       .outputs = {gives({2}, {0, 0}, kU8), gives({}, {1}), gives({}, {0}, kU8)}},
  };
}

TEST(QuantizeLinear, RefusesScalesThatDoNotFit) {
  expect_rejected({.op = "QuantizeLinear", .inputs = {draw({2, 3}), known({2}, {1, 1})}},
                  "expected one number or 3 of them");
  expect_rejected({.op = "QuantizeLinear",
                   .inputs = {draw({2, 3}), known({3}, {1, 1, 1}), known({}, {0}, kU8)}},
                  "the zero point has shape scalar but the scale has 3");
  expect_rejected(
      {.op = "QuantizeLinear", .inputs = {draw({2}), known({}, {1}), known({}, {0}, DType::kI64)}},
      "it cannot quantize to i64");
}

TEST(DequantizeLinear, RefusesFloats) {
  expect_rejected({.op = "DequantizeLinear", .inputs = {draw({2}), known({}, {1})}},
                  "the input is f32, expected integers or floats of 8 or 4 bits");
}

}  // namespace trainyard::testing
