// Relu and Clip and their gradients beside the reference.
#include <gtest/gtest.h>

#include "support/op_case.h"

namespace trainyard::testing {
namespace {

const std::vector<Shape> kActivationShapes = {{},           {9},           {7, 5},
                                              {1, 3, 5, 7}, {7, 20, 4, 5}, {2, 16, 17, 19}};

void check_fast_activation(const OpCase& c) {
  EXPECT_TRUE(is_fast(c)) << c;
  check_case(c);
}

TEST(NativeActivation, ReluAndItsGradientEqualTheReference) {
  for (const Shape& shape : kActivationShapes) {
    check_fast_activation({.op = "Relu", .inputs = {draw(shape)}});
    check_fast_activation({.op = "ReluGrad", .inputs = {draw(shape), draw(shape)}});
  }
}

TEST(NativeActivation, SmoothGradientsEqualTheReference) {
  for (const Shape& shape : kActivationShapes) {
    check_fast_activation({.op = "SigmoidGrad", .inputs = {draw(shape), draw(shape)}});
    check_fast_activation({.op = "TanhGrad", .inputs = {draw(shape), draw(shape)}});
    check_fast_activation({.op = "GeluGrad", .inputs = {draw(shape), draw(shape)}});
    check_fast_activation({.op = "GeluGrad",
                           .inputs = {draw(shape), draw(shape)},
                           .attributes = {{"approximate", text("tanh")}}});
  }
}

// Far from zero the slope of Gelu is 0 or 1, and its bell must not overflow.
TEST(NativeActivation, GeluIsFlatOrStraightFarFromZero) {
  const std::vector<double> x = {-90, -20, -6, -1, 0, 1, 6, 20, 90};
  check_fast_activation({.op = "GeluGrad",
                         .inputs = {given({9}, x), given({9}, std::vector<double>(9, 1))},
                         .outputs = {gives({9}, {0, 0, 0, -0.083315, 0.5, 1.083315, 1, 1, 1})}});
}

TEST(NativeActivation, NumbersPerRowAndRowsForAllEqualTheReference) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{7, 5}, {7, 1}},      {{7, 5}, {5}},
      {{7, 5}, {1, 5}},      {{2, 3, 4, 9}, {2, 3, 4, 1}},
      {{2, 3, 9}, {3, 9}},   {{2, 3, 9}, {2, 1, 1}},
      {{2, 1, 9}, {2, 1, 1}}};
  for (const auto& [whole, stretched] : shapes) {
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
      check_fast_activation({.op = op, .inputs = {draw(whole), draw(stretched)}});
      check_fast_activation({.op = op, .inputs = {draw(stretched), draw(whole)}});
    }
  }
}

// The second pair would make padding one.
TEST(NativeActivation, ClipAndItsGradientEqualTheReference) {
  for (const Shape& shape : kActivationShapes) {
    for (const double low : {-0.5, 1.0}) {
      const std::vector<OpInput> bounds = {known({}, {low}), known({}, {1.5})};
      check_fast_activation({.op = "Clip", .inputs = {draw(shape), bounds[0], bounds[1]}});
      check_fast_activation({.op = "Clip", .inputs = {draw(shape), absent(), bounds[1]}});
      check_fast_activation(
          {.op = "ClipGrad", .inputs = {draw(shape), draw(shape), bounds[0], bounds[1]}});
      check_fast_activation({.op = "ClipGrad", .inputs = {draw(shape), draw(shape), bounds[0]}});
    }
  }
}

}  // namespace
}  // namespace trainyard::testing
