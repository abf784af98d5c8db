// Cases of the operators that only the compiler makes.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {

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
      {.op = "Reorder",
       .inputs = {given({1, 2, 1, 2}, {1, 2, 3, 4})},
       .outputs = {gives({1, 2, 1, 2}, {1, 2, 3, 4})}},
      {.op = "ScaleShift",
       .inputs = {given({1, 2, 2}, {1, 2, 3, 4}), given({2}, {2, -1}), given({2}, {1, 0})},
       .attributes = {{"activation", text("Relu")}},
       .outputs = {gives({1, 2, 2}, {3, 5, 0, 0})}},
  };
}

namespace {

TEST(FusedConv, RejectsASumOfAnotherShape) {
  expect_rejected(
      {.op = "FusedConv",
       .inputs = {draw({1, 1, 4, 4}), draw({1, 1, 3, 3}), absent(), draw({1, 1, 4, 4})}},
      "the added tensor");
}

TEST(ScaleShift, RejectsScalesOfAnotherCount) {
  expect_rejected({.op = "ScaleShift", .inputs = {draw({1, 2, 2}), draw({3}), draw({2})}},
                  "expected 2 numbers");
}

}  // namespace
}  // namespace trainyard::testing
