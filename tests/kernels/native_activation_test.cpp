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
