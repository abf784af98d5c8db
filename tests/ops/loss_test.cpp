// Cases of the classification losses.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

constexpr const char* kNll = "NegativeLogLikelihoodLoss";

// Losses 2 (class 1, weight 3) and 3 (class 0, weight 1).
OpCase likelihood(Attributes attributes, OpOutput y) {
  return {.op = kNll,
          .inputs = {given({2, 2}, {-1, -2, -3, -4}), given({2}, {1, 0}, DType::kI64),
                     given({2}, {1, 3})},
          .attributes = std::move(attributes),
          .outputs = {std::move(y)}};
}

}  // namespace

OpCases loss_cases() {
  return {
      likelihood({}, gives({}, {2.25})),
      likelihood({{"reduction", text("sum")}}, gives({}, {9})),
      likelihood({{"reduction", text("none")}}, gives({2}, {6, 3})),
      likelihood({{"ignore_index", int64_t{1}}}, gives({}, {3})),
      likelihood({{"ignore_index", int64_t{1}}, {"reduction", text("none")}}, gives({2}, {0, 3})),
      // An ignored target need not be a class; i32 targets, two positions an image.
      {.op = kNll,
       .inputs = {given({1, 2, 2}, {-1, -2, -3, -4}), given({1, 2}, {-100, 1}, DType::kI32)},
       .attributes = {{"ignore_index", int64_t{-100}}},
       .outputs = {gives({}, {4})}},
      // Two pictures of four priors: one object and its two hardest, and none.
      {.op = "MineNegatives",
       .inputs = {given({2, 4, 2}, {0, 9, 0, 1, 0, 3, 0, 2, 0, 9, 0, 1, 0, 3, 0, 2}),
                  given({2, 4}, {1, 0, 0, 0, 0, 0, 0, 0}, DType::kI64)},
       .attributes = {{"ratio", 2.0F}},
       .outputs = {gives({2, 4}, {1, -1, 0, 0, -1, -1, -1, -1}, DType::kI64)}},
      {.op = "SoftmaxCrossEntropyLoss",
       .inputs = {given({1, 2}, {1000, 1000}), given({1}, {0}, DType::kI64)},
       .attributes = {{"reduction", text("none")}},
       .outputs = {gives({1}, {0.6931472}), gives({1, 2}, {-0.6931472, -0.6931472})}},
      // Weights 3 and 1 of 4 in all.
      {.op = "NegativeLogLikelihoodLossGrad",
       .inputs = {draw({2, 2}), given({2}, {1, 0}, DType::kI64), given({}, {8}),
                  given({2}, {1, 3})},
       .outputs = {gives({2, 2}, {0, -6, -2, 0})}},
      {.op = "SoftmaxCrossEntropyLossGrad",
       .inputs = {given({2, 2}, {1000, 1000, 0, 0}), given({2}, {0, 7}, DType::kI64),
                  given({2}, {2, 3})},
       .attributes = {{"reduction", text("none")}, {"ignore_index", int64_t{7}}},
       .outputs = {gives({2, 2}, {-1, 1, 0, 0})}},
  };
}

TEST(ClassificationLoss, RefusesTargetsThatAreNoClass) {
  expect_rejected({.op = kNll, .inputs = {draw({1, 2}), given({1}, {2}, DType::kI64)}},
                  "target 2 at position 0 is not one of the 2 classes");
}

TEST(ClassificationLoss, RefusesOperandsThatDoNotFit) {
  expect_rejected({.op = kNll, .inputs = {draw({4, 2}), draw({2}, DType::kI64)}},
                  "targets have shape 2, expected 4");
  expect_rejected({.op = kNll, .inputs = {draw({4, 2}), draw({4})}},
                  "targets are f32, expected i32 or i64");
  expect_rejected({.op = kNll, .inputs = {draw({4, 2}), draw({4}, DType::kI64), draw({3})}},
                  "weights are f32[3], expected f32[2]");
  expect_rejected(likelihood({{"reduction", text("max")}}, {}), "reduction 'max'");
  expect_rejected({.op = "NegativeLogLikelihoodLossGrad",
                   .inputs = {draw({4, 2}), draw({4}, DType::kI64), draw({4})}},
                  "dloss is f32[4], expected f32[]");
}

}  // namespace trainyard::testing
