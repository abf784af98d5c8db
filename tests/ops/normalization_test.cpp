// Cases of the normalizations.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

OpCase batch_norm(Attributes attributes, OpInput x, std::vector<OpOutput> y) {
  attributes.emplace("epsilon", 0.0F);
  return {
      .op = "BatchNormalization",
      .inputs = {std::move(x), given({1}, {2}), given({1}, {1}), given({1}, {10}), given({1}, {4})},
      .attributes = std::move(attributes),
      .outputs = std::move(y)};
}

}  // namespace

OpCases normalization_cases() {
  return {
      batch_norm({}, given({1, 1, 2}, {12, 8}), {gives({1, 1, 2}, {3, -1})}),
      // Mean 2 and variance 1 of the batch; running statistics move a tenth of the way.
      batch_norm({{"training_mode", int64_t{1}}}, given({2, 1}, {1, 3}),
                 {gives({2, 1}, {-1, 3}), gives({1}, {9.2}), gives({1}, {3.7})}),
      {.op = "InstanceNormalization",
       .inputs = {given({1, 2, 2}, {1, 3, 5, 9}), given({2}, {1, 2}), given({2}, {0, 1})},
       .attributes = {{"epsilon", 0.0F}},
       .outputs = {gives({1, 2, 2}, {-1, 1, -1, 3})}},
      {.op = "LayerNormalization",
       .inputs = {given({2, 2}, {1, 3, 5, 9}), given({2}, {1, 2}), given({2}, {0, 1})},
       .attributes = {{"epsilon", 0.0F}},
       .outputs = {gives({2, 2}, {-1, 3, -1, 3}), gives({2, 1}, {2, 7}), gives({2, 1}, {1, 0.5})}},
      // As many factors and summands as columns, but one for each row.
      {.op = "LayerNormalization",
       .inputs = {given({2, 2}, {1, 3, 5, 9}), given({2, 1}, {1, 2}), given({2, 1}, {0, 1})},
       .attributes = {{"epsilon", 0.0F}},
       .outputs = {gives({2, 2}, {-1, 1, -1, 3})}},
      {.op = "LayerNormalization",
       .inputs = {draw({2, 3, 4}), draw({3, 4})},
       .attributes = {{"axis", int64_t{1}}},
       .outputs = {gives_type({2, 3, 4}), gives_type({2, 1, 1})}},
      {.op = "LayerNormalization",
       .inputs = {draw({2, 4}, DType::kBF16), draw({4}, DType::kBF16)},
       .outputs = {gives_type({2, 4}, DType::kBF16), gives_type({2, 1})}},
      {.op = "LpNormalization",
       .inputs = {given({2, 2}, {1, 0, -3, 0})},
       .attributes = {{"axis", int64_t{0}}, {"p", int64_t{1}}},
       .outputs = {gives({2, 2}, {0.25, 0, -0.75, 0})}},
      {.op = "LRN",
       .inputs = {given({1, 2, 1}, {1, 2})},
       .attributes = {{"alpha", 1.0F}, {"beta", 1.0F}, {"size", int64_t{2}}},
       .outputs = {gives({1, 2, 1}, {1 / 3.5, 2.0 / 3})}},
      {.op = "MeanVarianceNormalization",
       .inputs = {given({2, 2}, {1, 5, 3, 9})},
       .attributes = {{"axes", ints({0})}},
       .outputs = {gives({2, 2}, {-1, -1, 1, 1})}},
  };
}

TEST(BatchNormalization, RefusesStatisticsThatDoNotFit) {
  expect_rejected({.op = "BatchNormalization",
                   .inputs = {draw({2, 3, 4}), draw({3}), draw({3}), draw({4}), draw({3})}},
                  "input 3 has shape 4, expected 3 channels");
  expect_rejected(batch_norm({}, draw({2, 1}), {{}, {}, {}}), "training mode only");
}

TEST(LayerNormalization, RefusesAScaleThatDoesNotFit) {
  expect_rejected({.op = "LayerNormalization", .inputs = {draw({2, 4}), draw({3})}}, "3");
  expect_rejected({.op = "LayerNormalization",
                   .inputs = {draw({2, 4}), draw({4})},
                   .attributes = {{"axis", int64_t{2}}}},
                  "axis 2");
}

TEST(LpNormalization, RefusesOtherNorms) {
  expect_rejected(
      {.op = "LpNormalization", .inputs = {draw({2})}, .attributes = {{"p", int64_t{3}}}},
      "p is 3, expected 1 or 2");
}

TEST(LRN, RefusesAnEmptyNeighborhood) {
  expect_rejected({.op = "LRN", .inputs = {draw({1, 2, 3})}, .attributes = {{"size", int64_t{0}}}},
                  "size 0 is not possible");
}

TEST(MeanVarianceNormalization, RefusesAxesOutsideTheRank) {
  expect_rejected({.op = "MeanVarianceNormalization", .inputs = {draw({2, 3})}}, "axis 2");
}

}  // namespace trainyard::testing
