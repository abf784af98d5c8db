// The fast optimizers beside the reference: several tensors of odd sizes and layouts.
#include <gtest/gtest.h>

#include "support/op_case.h"

namespace trainyard::testing {
namespace {

const std::vector<Shape> kTensors = {{3, 5, 3, 3}, {7}, {}, {35, 480}, {0}};

OpInput positive_optimizer(const Shape& shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(0.01 * static_cast<double>(i % 17));
  }
  OpInput input = given(shape, values);
  return input;
}

OpCase step(const char* op, size_t states, double count, Attributes attributes) {
  OpCase c{.op = op,
           .inputs = {given({}, {0.125}), given({}, {count}, DType::kI64)},
           .attributes = std::move(attributes)};
  for (size_t group = 0; group < 2 + states; ++group) {
    for (const Shape& shape : kTensors) {
      // The last state of Adam is a mean of squares.
      c.inputs.push_back(group == 3 ? positive_optimizer(shape) : draw(shape));
      if (group != 1) c.outputs.push_back(gives_type(shape));
    }
  }
  return c;
}

TEST(NativeOptimizer, MomentumEqualsTheReference) {
  for (const char* mode : {"standard", "nesterov"}) {
    for (const double count : {0.0, 3.0}) {
      const OpCase c = step(
          "Momentum", 1, count,
          {{"alpha", 0.9F}, {"beta", 0.8F}, {"mode", text(mode)}, {"norm_coefficient", 1e-2F}});
      EXPECT_TRUE(is_fast(c));
      check_case(c);
    }
  }
}

TEST(NativeOptimizer, AdamEqualsTheReference) {
  for (const double count : {0.0, 1.0, 20.0}) {
    const OpCase c =
        step("Adam", 2, count, {{"norm_coefficient", 1e-2F}, {"norm_coefficient_post", 1e-3F}});
    EXPECT_TRUE(is_fast(c));
    check_case(c);
  }
}

TEST(NativeOptimizer, AdamWEqualsTheReference) {
  for (const double count : {1.0, 20.0}) {
    const OpCase c = step("AdamW", 2, count, {{"weight_decay", 0.1F}});
    EXPECT_TRUE(is_fast(c));
    check_case(c);
  }
}

TEST(NativeOptimizer, RmsPropAndAdagradEqualTheReference) {
  // Squares may not be below the means that they belong to.
  OpCase c =
      step("RmsProp", 2, 1, {{"alpha", 0.95F}, {"epsilon", 0.01F}, {"norm_coefficient", 1e-2F}});
  for (size_t i = 0; i < kTensors.size(); ++i) {
    c.inputs[2 + 2 * kTensors.size() + i] =
        given(kTensors[i], std::vector<double>(kTensors[i].num_elements(), 0));
  }
  EXPECT_TRUE(is_fast(c));
  check_case(c);
  OpCase squares = step("Adagrad", 1, 2, {{"decay_factor", 0.5F}, {"norm_coefficient", 1e-2F}});
  for (size_t i = 0; i < kTensors.size(); ++i) {
    squares.inputs[2 + 2 * kTensors.size() + i] = positive_optimizer(kTensors[i]);
  }
  EXPECT_TRUE(is_fast(squares));
  check_case(squares);
}

TEST(NativeOptimizer, LarsEqualsTheReference) {
  const OpCase c = step("Lars", 1, 1, {{"alpha", 0.9F}, {"trust", 0.02F}, {"weight_decay", 0.1F}});
  EXPECT_TRUE(is_fast(c));
  check_case(c);
}

TEST(NativeOptimizer, LionAndLambEqualTheReference) {
  const OpCase lion = step("Lion", 1, 1, {{"weight_decay", 0.1F}});
  EXPECT_TRUE(is_fast(lion));
  check_case(lion);
  for (const double count : {1.0, 20.0}) {
    const OpCase lamb = step("Lamb", 2, count, {{"weight_decay", 0.1F}});
    EXPECT_TRUE(is_fast(lamb));
    check_case(lamb);
  }
}

TEST(NativeOptimizer, AveragesAndNormsEqualTheReference) {
  const OpCase average = step("MovingAverage", 0, 1, {});
  EXPECT_TRUE(is_fast(average));
  check_case(average);
  OpCase norm{.op = "GlobalNorm", .inputs = {}, .attributes = {}, .outputs = {gives_type({})}};
  for (const Shape& shape : kTensors) norm.inputs.push_back(draw(shape));
  EXPECT_TRUE(is_fast(norm));
  check_case(norm);
}

TEST(NativeOptimizer, ClipByGlobalNormEqualsTheReference) {
  for (const float limit : {2.0F, 1000.0F}) {
    OpCase c{.op = "ClipByGlobalNorm", .inputs = {}, .attributes = {{"max_norm", limit}}};
    for (const Shape& shape : kTensors) {
      c.inputs.push_back(draw(shape));
      c.outputs.push_back(gives_type(shape));
    }
    c.outputs.push_back(gives_type({}));
    EXPECT_TRUE(is_fast(c));
    check_case(c);
  }
}

}  // namespace
}  // namespace trainyard::testing
