// Cases of the optimizers.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

OpCase step(const char* op, double rate, double count, std::vector<OpInput> tensors,
            Attributes attributes, std::vector<OpOutput> outputs) {
  std::vector<OpInput> inputs = {given({}, {rate}), given({}, {count}, DType::kI64)};
  for (OpInput& tensor : tensors) inputs.push_back(std::move(tensor));
  return {.op = op,
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .outputs = std::move(outputs)};
}

OpInput one(double value) {
  return given({1}, {value});
}

OpOutput becomes(double value) {
  return gives({1}, {value});
}

OpInput draw_zeros() {
  return given({2}, {0, 0});
}

Attributes momentum(std::string_view mode) {
  return {{"alpha", 0.5F}, {"beta", 0.9F}, {"mode", text(mode)}, {"norm_coefficient", 0.0F}};
}

}  // namespace

OpCases optimizer_cases() {
  return {
      // beta counts from the second step on.
      step("Momentum", 0.1, 0, {one(1), one(2), one(3)}, momentum("standard"),
           {becomes(0.65), becomes(3.5)}),
      step("Momentum", 0.1, 1, {one(1), one(2), one(3)}, momentum("standard"),
           {becomes(0.67), becomes(3.3)}),
      step("Momentum", 0.1, 0, {one(1), one(2), one(3)}, momentum("nesterov"),
           {becomes(0.625), becomes(3.5)}),
      // Two tensors: both, their gradients, their states.
      step("Momentum", 1, 0, {one(1), one(2), one(3), one(4), one(0), one(0)}, momentum("standard"),
           {becomes(-2), becomes(-2), becomes(3), becomes(4)}),
      step("Adagrad", 1, 1, {one(1), one(3), one(16)}, {{"decay_factor", 1.0F}, {"epsilon", 0.0F}},
           {becomes(0.7), becomes(25)}),
      step("Adagrad", 1, 0, {one(1), one(2), one(16)},
           {{"norm_coefficient", 1.0F}, {"epsilon", 0.0F}}, {becomes(0.4), becomes(25)}),
      step("Adam", 0.1, 0, {one(1), one(2), one(0), one(0)},
           {{"alpha", 0.0F}, {"beta", 0.0F}, {"epsilon", 0.0F}, {"norm_coefficient_post", 0.5F}},
           {becomes(0.45), becomes(2), becomes(4)}),
      // The first step after the start has size `rate` whatever the gradient.
      step("Adam", 0.1, 1, {one(1), one(20), one(0), one(0)},
           {{"alpha", 0.5F}, {"beta", 0.75F}, {"epsilon", 0.0F}},
           {becomes(0.9), becomes(10), becomes(100)}),
      // As above, but the weight shrinks by a twentieth first.
      step("AdamW", 0.1, 1, {one(1), one(20), one(0), one(0)},
           {{"alpha", 0.5F}, {"beta", 0.75F}, {"epsilon", 0.0F}, {"weight_decay", 0.5F}},
           {becomes(0.85), becomes(10), becomes(100)}),
      // mean 2, square 8: the gradient 4 over sqrt(8 - 4) + 2.
      step("RmsProp", 1, 1, {one(3), one(4), one(0), one(0)}, {{"alpha", 0.5F}, {"epsilon", 2.0F}},
           {becomes(2), becomes(2), becomes(8)}),
      // The same gradient, half of it the pull towards zero.
      step("RmsProp", 1, 1, {one(2), one(2), one(0), one(0)},
           {{"alpha", 0.5F}, {"epsilon", 2.0F}, {"norm_coefficient", 1.0F}},
           {becomes(1), becomes(2), becomes(8)}),
      // The first tensor's rate is 0.5 * 5 / (10 + 2 * 5) = 1/8, the second's 1.
      step("Lars", 1, 0,
           {given({2}, {3, 4}), one(0), given({2}, {6, 8}), one(3), given({2}, {0, 1}), one(2)},
           {{"alpha", 0.5F}, {"trust", 0.5F}, {"weight_decay", 2.0F}},
           {gives({2}, {1.5, 1.5}), becomes(-4), gives({2}, {1.5, 2.5}), becomes(4)}),
      // The sign of 0.5 * -2 + 0.5 * 1 is negative, so the weight grows by the rate after it has
      // shrunk by a tenth; a mean of zero moves nothing.
      step("Lion", 0.1, 1, {given({2}, {10, 1}), given({2}, {1, 2}), given({2}, {-2, -2})},
           {{"alpha", 0.5F}, {"beta", 0.75F}, {"weight_decay", 1.0F}},
           {gives({2}, {9.1, 0.9}), gives({2}, {-1.25, -1})}),
      // Moves of Adam are 1 each, with decay {4, 5}: scaled from the norm sqrt(41) to that of {3,
      // 4}.
      step("Lamb", 1, 1, {given({2}, {3, 4}), given({2}, {20, 10}), draw_zeros(), draw_zeros()},
           {{"alpha", 0.5F}, {"beta", 0.75F}, {"epsilon", 0.0F}, {"weight_decay", 1.0F}},
           {gives({2}, {3 - 4 * 5 / std::sqrt(41.0), 4 - 5 * 5 / std::sqrt(41.0)}),
            gives({2}, {10, 5}), gives({2}, {100, 25})}),
      step("MovingAverage", 0.25, 1, {one(4), one(8), one(8), one(4)}, {},
           {becomes(5), becomes(7)}),
      {.op = "GlobalNorm",
       .inputs = {given({2}, {3, 4}), given({1, 1}, {12})},
       .outputs = {gives({}, {13})}},
      {.op = "ClipByGlobalNorm",
       .inputs = {given({2}, {3, 4}), given({1, 1}, {12})},
       .attributes = {{"max_norm", 6.5F}},
       .outputs = {gives({2}, {1.5, 2}), gives({1, 1}, {6}), gives({}, {13})}},
      {.op = "ClipByGlobalNorm",
       .inputs = {given({2}, {3, 4})},
       .attributes = {{"max_norm", 6.0F}},
       .outputs = {gives({2}, {3, 4}), gives({}, {5})}},
  };
}

TEST(ClipByGlobalNorm, RefusesALimitThatIsNotPositive) {
  expect_rejected({.op = "ClipByGlobalNorm",
                   .inputs = {draw({2})},
                   .attributes = {{"max_norm", 0.0F}},
                   .outputs = {gives_type({2}), gives_type({})}},
                  "max_norm 0 is not positive");
}

TEST(Optimizer, RefusesIncompleteGroups) {
  expect_rejected(step("Momentum", 1, 0, {one(1), one(2), one(3), one(4)}, momentum("standard"),
                       {becomes(0), becomes(0)}),
                  "4 inputs follow rate and count, expected 3 for each tensor");
  expect_rejected(step("Momentum", 1, 0, {one(1), draw({2}), one(3)}, momentum("standard"),
                       {becomes(0), becomes(0)}),
                  "input 3 is f32[2], expected f32[1]");
  expect_rejected(
      step("Momentum", 1, 0, {one(1), one(2), one(3)}, momentum("heavy"), {becomes(0), becomes(0)}),
      "mode 'heavy'");
}

}  // namespace trainyard::testing
