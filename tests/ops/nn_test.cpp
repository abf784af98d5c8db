// Cases of the neural-network operators.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {

OpCases nn_cases() {
  return {
      {.op = "AveragePool",
       .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4})},
       .attributes = {{"kernel_shape", ints({2, 2})}},
       .outputs = {gives({1, 1, 1, 1}, {2.5})}},
      {.op = "GlobalAveragePool",
       .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4})},
       .outputs = {gives({1, 1, 1, 1}, {2.5})}},
      {.op = "GlobalMaxPool",
       .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4})},
       .outputs = {gives({1, 1, 1, 1}, {4})}},
      {.op = "GlobalLpPool",
       .inputs = {given({1, 1, 2}, {3, 4})},
       .outputs = {gives({1, 1, 1}, {5})}},
      {.op = "Hardmax",
       .inputs = {given({2, 3}, {1, 3, 3, 2, 0, 1})},
       .outputs = {gives({2, 3}, {0, 1, 0, 1, 0, 0})}},
      {.op = "LogSoftmax",
       .inputs = {given({1, 2}, {0, 0})},
       .outputs = {gives({1, 2}, {-0.6931472, -0.6931472})}},
      {.op = "LpPool",
       .inputs = {given({1, 1, 2}, {3, 4})},
       .attributes = {{"kernel_shape", ints({2})}},
       .outputs = {gives({1, 1, 1}, {5})}},
      {.op = "MaxPool",
       .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4})},
       .attributes = {{"kernel_shape", ints({2, 2})}},
       .outputs = {gives({1, 1, 1, 1}, {4})}},
      {.op = "NegativeLogLikelihoodLoss",
       .inputs = {given({1, 2}, {-1, -2}), given({1}, {1}, DType::kI64)},
       .outputs = {gives({}, {2})}},
      {.op = "QLinearMatMul",
       .inputs = {given({1, 2}, {3, 4}, DType::kU8), known({}, {0.5}), known({}, {1}, DType::kU8),
                  given({2, 1}, {5, 6}, DType::kU8), known({}, {0.5}), known({}, {1}, DType::kU8),
                  known({}, {0.25}), known({}, {3}, DType::kU8)},
       .outputs = {gives({1, 1}, {26}, DType::kU8)}},
      {.op = "Softmax",
       .inputs = {given({2, 2}, {0, 0, 0, 1000})},
       .outputs = {gives({2, 2}, {0.5, 0.5, 0, 1})}},
      {.op = "Softmax", .inputs = {draw({2, 3, 4})}, .attributes = {{"axis", int64_t{1}}}},
  };
}

TEST(Softmax, RefusesAnAxisOutsideTheRank) {
  expect_rejected({.op = "Softmax", .inputs = {draw({2, 3})}, .attributes = {{"axis", int64_t{2}}}},
                  "axis 2");
}

}  // namespace trainyard::testing
