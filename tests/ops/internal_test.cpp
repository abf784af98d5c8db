// Cases of the operators that only the compiler makes.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

std::vector<double> falling_bytes() {
  std::vector<double> values;
  for (int i = 255; i >= 0; --i) values.push_back(i);
  return values;
}

}  // namespace

OpCases internal_cases() {
  return {
      {.op = "AllReduceStart",
       .inputs = {given({2}, {1, 2}), given({1}, {3})},
       .attributes = {{"bucket", int64_t{0}}},
       .outputs = {gives({2}, {1, 2}), gives({1}, {3})}},
      {.op = "AllReduceWait",
       .inputs = {given({2}, {1, 2}), given({1}, {3})},
       .attributes = {{"bucket", int64_t{0}}},
       .outputs = {gives({2}, {1, 2}), gives({1}, {3})}},
      {.op = "FusedConv",
       .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4}), given({1, 1, 1, 1}, {-1}), given({1}, {2}),
                  given({1, 1, 2, 2}, {0, 0, 5, 0})},
       .attributes = {{"activation", text("Relu")}},
       .outputs = {gives({1, 1, 2, 2}, {1, 0, 4, 0})}},
      {.op = "FusedGemm",
       .inputs = {given({1, 2}, {1, 2}), given({2, 2}, {1, -1, 1, -1}), given({2}, {0.5, 0.5})},
       .attributes = {{"activation", text("Relu")}},
       .outputs = {gives({1, 2}, {3.5, 0})}},
      {.op = "FusedGemm",
       .inputs = {draw({19, 40}), known_draw({65, 40}), known_draw({65})},
       .attributes = {{"activation", text("Gelu")}, {"transB", int64_t{1}}}},
      {.op = "FusedGemm",
       .inputs = {draw({3, 40}), known_draw({40, 65})},
       .attributes = {{"activation", text("Gelu")}, {"activation_alpha", 1.0F}}},
      {.op = "FusedGemm",
       .inputs = {draw({9, 33}), known_draw({33, 31})},
       .attributes = {{"activation", text("Clip")},
                      {"activation_alpha", -1.5F},
                      {"activation_beta", 2.0F}}},
      // Halves go to even, both ends are clamped.
      {.op = "QuantizedAdd",
       .inputs = {given({6}, {10, 11, 12, 13, 200, 0}, kU8), given({6}, {4, 4, 4, 4, 200, 0}, kU8)},
       .attributes = {{"a_ratio", 0.5F},
                      {"a_zero", int64_t{10}},
                      {"b_zero", int64_t{4}},
                      {"y_zero", int64_t{3}}},
       .outputs = {gives({6}, {3, 3, 4, 5, 255, 0}, kU8)}},
      // Two and four pixels under a window.
      {.op = "QuantizedAveragePool",
       .inputs = {given({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}, kU8)},
       .attributes = {{"kernel_shape", ints({2, 2})},
                      {"pads", ints({0, 0, 0, 1})},
                      {"ratio", 2.0F},
                      {"x_zero", int64_t{1}},
                      {"y_zero", int64_t{10}}},
       .outputs = {gives({1, 1, 1, 3}, {14, 16, 17}, kU8)}},
      {.op = "QuantizedConcat",
       .inputs = {given({1, 1, 2}, {5, 6}, kU8), given({1, 2, 2}, {7, 8, 9, 250}, kU8)},
       .attributes = {{"axis", int64_t{1}},
                      {"ratios", std::vector<float>{1.0F, 2.0F}},
                      {"y_zero", int64_t{5}},
                      {"zeros", ints({5, 7})}},
       .outputs = {gives({1, 3, 2}, {5, 6, 5, 7, 9, 255}, kU8)}},
      // Padding counts as the zero point; the sum of the second position is 2 * (4 - 3) + 1.
      {.op = "QuantizedConv",
       .inputs = {given({1, 1, 1, 2}, {5, 4}, kU8), known({1, 1, 1, 2}, {2, -1}, DType::kI8),
                  known({1}, {1}, DType::kI32), known({1}, {0.5})},
       .attributes = {{"pads", ints({0, 0, 0, 1})}, {"x_zero", int64_t{3}}, {"y_zero", int64_t{7}}},
       .outputs = {gives({1, 1, 1, 2}, {9, 9}, kU8)}},
      {.op = "QuantizedConv",
       .inputs = {given({1, 1, 1, 2}, {5, 4}, kU8), known({1, 1, 1, 1}, {3}, DType::kI8),
                  known({1}, {1}, DType::kI32), known({1}, {0.25})},
       .attributes = {{"x_zero", int64_t{3}}},
       .outputs = {gives({1, 1, 1, 2}, {1.75, 1})}},
      // 7 and 4 sums become steps 2 (1.75) and 1; then halved, with what is added.
      {.op = "QuantizedConv",
       .inputs = {given({1, 1, 1, 2}, {5, 4}, kU8), known({1, 1, 1, 1}, {3}, DType::kI8),
                  known({1}, {1}, DType::kI32), known({1}, {0.25}),
                  given({1, 1, 1, 2}, {20, 1}, kU8)},
       .attributes = {{"out_low", int64_t{2}},
                      {"own_ratio", 0.5F},
                      {"sum_zero", int64_t{10}},
                      {"x_zero", int64_t{3}},
                      {"y_zero", int64_t{7}}},
       .outputs = {gives({1, 1, 1, 2}, {11, 2}, kU8)}},
      {.op = "QuantizedTable",
       .inputs = {given({3}, {0, 1, 255}, kU8), known({256}, falling_bytes(), kU8)},
       .outputs = {gives({3}, {255, 254, 0}, kU8)}},
      {.op = "Reorder",
       .inputs = {given({1, 2, 1, 2}, {1, 2, 3, 4})},
       .outputs = {gives({1, 2, 1, 2}, {1, 2, 3, 4})}},
      {.op = "ScaleShift",
       .inputs = {given({1, 2, 2}, {1, 2, 3, 4}), given({2}, {2, -1}), given({2}, {1, 0})},
       .attributes = {{"activation", text("Relu")}},
       .outputs = {gives({1, 2, 2}, {3, 5, 0, 0})}},
      // (5 - 3) * (2 - 1) and (4 - 3) * (2 - 1), halved, plus ten.
      {.op = "ScaledConvInteger",
       .inputs = {given({1, 1, 1, 2}, {5, 4}, kU8), known({1, 1, 1, 1}, {2}, DType::kI8),
                  given({}, {3}, kU8), known({}, {1}, DType::kI8), given({}, {0.5}),
                  given({1}, {10})},
       .outputs = {gives({1, 1, 1, 2}, {11, 10.5})}},
      {.op = "ScaledMatMulInteger",
       .inputs = {given({1, 2}, {5, 4}, kU8), known({2, 2}, {1, 2, 3, 4}, kU8), given({}, {3}, kU8),
                  known({}, {1}, kU8), given({2}, {1, 0.5}), given({2}, {0, 10})},
       .outputs = {gives({1, 2}, {2, 12.5})}},
  };
}

namespace {

TEST(FusedConv, RejectsASumOfAnotherShape) {
  expect_rejected(
      {.op = "FusedConv",
       .inputs = {draw({1, 1, 4, 4}), draw({1, 1, 3, 3}), absent(), draw({1, 1, 4, 4})}},
      "the added tensor");
}

TEST(QuantizedConv, RejectsFloats) {
  expect_rejected({.op = "QuantizedConv",
                   .inputs = {draw({1, 1, 2, 2}), draw({1, 1, 1, 1}), draw({1}), draw({1})}},
                  "expected u8 and i8");
}

TEST(QuantizedTable, RejectsShortTables) {
  expect_rejected({.op = "QuantizedTable", .inputs = {draw({2}, kU8), draw({255}, kU8)}},
                  "the table is u8[255]");
}

TEST(ScaleShift, RejectsScalesOfAnotherCount) {
  expect_rejected({.op = "ScaleShift", .inputs = {draw({1, 2, 2}), draw({3}), draw({2})}},
                  "expected 2 numbers");
}

}  // namespace
}  // namespace trainyard::testing
