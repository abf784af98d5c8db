// Cases of matrix products and determinants.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {}  // namespace

OpCases linear_cases() {
  return {
      {.op = "Det", .inputs = {given({2, 2}, {1, 2, 3, 4})}, .outputs = {gives({}, {-2})}},
      {.op = "Det",
       .inputs = {given({2, 3, 3}, {0, 2, 0, 3, 0, 0, 0, 0, 4, 1, 2, 3, 2, 4, 6, 0, 0, 1})},
       .outputs = {gives({2}, {-24, 0})}},
      {.op = "Gemm",
       .inputs = {given({2, 1}, {1, 2}), given({3, 2}, {1, 0, 0, 1, 1, 1}), given({}, {10})},
       .attributes =
           {{"alpha", 0.5F}, {"beta", 2.0F}, {"transA", int64_t{1}}, {"transB", int64_t{1}}},
       .outputs = {gives({1, 3}, {20.5, 21, 21.5})}},
      {.op = "Gemm",
       .inputs = {given({1, 1}, {-3}, DType::kI32), given({1, 2}, {5, 7}, DType::kI32),
                  given({1, 2}, {1, 2}, DType::kI32)},
       .outputs = {gives({1, 2}, {-14, -19}, DType::kI32)}},
      {.op = "MatMul",
       .inputs = {given({3}, {1, 2, 3}), given({3}, {4, 5, 6})},
       .outputs = {gives({}, {32})}},
      {.op = "MatMul",
       .inputs = {given({2, 1, 1, 2}, {1, 2, 3, 4}), given({3, 2, 1}, {1, 1, 1, 0, 0, 1})},
       .outputs = {gives({2, 3, 1, 1}, {3, 1, 2, 7, 3, 4})}},
      {.op = "MatMul",
       .inputs = {given({2, 2}, {1, 2, 3, 4}), given({2}, {1, -1})},
       .outputs = {gives({2}, {-1, -1})}},
      // Weights that are known, as the packed kernels want them: rows and columns that fill no
      // tile.
      {.op = "MatMul",
       .inputs = {draw({2, 7, 70}), known_draw({70, 53})},
       .outputs = {gives_type({2, 7, 53})}},
      {.op = "MatMul", .inputs = {draw({1, 33}), known_draw({33, 16})}},
      {.op = "MatMul", .inputs = {draw({0, 3}), draw({3, 2})}, .outputs = {gives_type({0, 2})}},
      {.op = "MatMulInteger",
       .inputs = {given({2, 2}, {1, 2, 3, 4}, kU8), given({2, 1}, {3, 4}, kU8),
                  known({2}, {1, 2}, kU8)},
       .outputs = {gives({2, 1}, {4, 11}, DType::kI32)}},
  };
}

TEST(MatMul, RefusesOperandsThatDoNotFit) {
  expect_rejected({.op = "MatMul", .inputs = {draw({2, 3}), draw({2, 3})}},
                  "inner sizes of 2x3 and 2x3 differ");
  expect_rejected({.op = "MatMul", .inputs = {draw({}), draw({2, 3})}}, "scalars do not multiply");
  expect_rejected({.op = "MatMul", .inputs = {draw({2, 3}), draw({3, 2}, DType::kF64)}},
                  "operands are f32 and f64");
}

TEST(Gemm, RefusesOperandsThatDoNotFit) {
  expect_rejected({.op = "Gemm", .inputs = {draw({2, 3, 4}), draw({4, 2})}}, "two matrices");
  expect_rejected({.op = "Gemm", .inputs = {draw({2, 3}), draw({2, 3})}}, "inner sizes 3 and 2");
  expect_rejected({.op = "Gemm", .inputs = {draw({2, 3}), draw({3, 4}), draw({3})}},
                  "shapes 3 and 2x4");
}

TEST(MatMulInteger, RefusesFloats) {
  expect_rejected({.op = "MatMulInteger", .inputs = {draw({2, 3}), draw({3, 2})}},
                  "input 0 is f32, expected u8 or i8");
}

TEST(Det, RefusesMatricesThatAreNotSquare) {
  expect_rejected({.op = "Det", .inputs = {draw({2, 3})}}, "expected square matrices");
}

}  // namespace trainyard::testing
