// Cases of the unary family: known points of each function, and its element types.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

OpCase points(const char* op, std::vector<double> x, std::vector<double> y,
              DType dtype = DType::kF32, Attributes attributes = {}) {
  const auto count = static_cast<int64_t>(x.size());
  return {.op = op,
          .inputs = {given({count}, std::move(x), dtype)},
          .attributes = std::move(attributes),
          .outputs = {gives({count}, std::move(y), dtype)}};
}

OpCase predicate(const char* op, std::vector<double> x, std::vector<double> y,
                 DType dtype = DType::kF32, Attributes attributes = {}) {
  OpCase c = points(op, std::move(x), std::move(y), dtype, std::move(attributes));
  c.outputs[0].type.dtype = DType::kBool;
  return c;
}

}  // namespace

OpCases unary_cases() {
  return {
      points("Abs", {-2, 0, 3}, {2, 0, 3}),
      points("Abs", {-128, 5}, {-128, 5}, DType::kI8),
      points("Acos", {1, 0, -1}, {0, 1.5707963, 3.1415927}),
      points("Acosh", {1, 2}, {0, 1.3169579}),
      points("Asin", {0, 1}, {0, 1.5707963}),
      points("Asinh", {0, 1}, {0, 0.8813736}),
      points("Atan", {0, 1}, {0, 0.7853982}),
      points("Atanh", {0, 0.5}, {0, 0.5493061}),
      points("Ceil", {-1.5, 0, 1.2}, {-1, 0, 2}),
      points("Celu", {-2, 0, 3}, {-2 * (1 - std::exp(-1)), 0, 3}, DType::kF32, {{"alpha", 2.0F}}),
      points("Cos", {0, 3.1415927}, {1, -1}),
      points("Cosh", {0, 1}, {1, 1.5430806}),
      points("Elu", {-1, 2}, {2 * std::expm1(-1), 2}, DType::kF32, {{"alpha", 2.0F}}),
      points("Erf", {0, 1, -1}, {0, 0.8427008, -0.8427008}),
      points("Exp", {0, 1}, {1, 2.7182818}),
      points("Exp", {0, 1}, {1, 2.718281828459045}, DType::kF64),
      points("Exp", {0, 1}, {1, 2.718}, DType::kF16),
      points("Exp", {0, 1}, {1, 2.72}, DType::kBF16),
      points("Floor", {-1.5, 0, 1.2}, {-2, 0, 1}),
      points("HardSigmoid", {-9, 0, 9}, {0, 0.5, 1}),
      points("HardSwish", {-4, -1, 0, 4}, {0, -0.3333333, 0, 4}),
      predicate("IsInf", {1, kInf, -kInf, kNaN}, {0, 1, 1, 0}),
      predicate("IsInf", {kInf, -kInf}, {0, 1}, DType::kF32, {{"detect_positive", int64_t{0}}}),
      predicate("IsNaN", {1, kInf, kNaN}, {0, 0, 1}),
      points("LeakyRelu", {-2, 3}, {-0.2, 3}, DType::kF32, {{"alpha", 0.1F}}),
      points("Log", {1, 2.7182818, 0}, {0, 1, -kInf}),
      points("Mish", {0, 1}, {0, 0.8650984}),
      points("Neg", {-2, 3}, {2, -3}),
      points("Neg", {-2, 3}, {2, -3}, DType::kI32),
      predicate("Not", {0, 1}, {1, 0}, DType::kBool),
      points("Reciprocal", {2, -4}, {0.5, -0.25}),
      points("Relu", {-1, 0, 2, kNaN, -kInf, kInf}, {0, 0, 2, kNaN, 0, kInf}),
      points("Relu", {-1, 0, 2}, {0, 0, 2}, DType::kI16),
      points("Round", {0.5, 1.5, 2.5, -0.5, -1.7}, {0, 2, 2, 0, -2}),
      points("Selu", {-1, 2}, {-1.1113307, 2.101402}),
      points("Shrink", {-2, 0.1, 2}, {-1.5, 0, 1.5}, DType::kF32,
             {{"lambd", 1.5F}, {"bias", 0.5F}}),
      points("Sigmoid", {0, 100, -100}, {0.5, 1, 0}),
      points("Sign", {-3, 0, 7}, {-1, 0, 1}),
      points("Sign", {-3, 0, 7}, {-1, 0, 1}, DType::kI64),
      points("Sin", {0, 1.5707963}, {0, 1}),
      points("Sinh", {0, 1}, {0, 1.1752012}),
      points("Softplus", {0, 100, -100}, {0.6931472, 100, 0}),
      points("Softsign", {-1, 3}, {-0.5, 0.75}),
      points("Sqrt", {4, 2}, {2, 1.4142136}),
      points("Tan", {0, 1}, {0, 1.5574077}),
      points("Tanh", {0, 1}, {0, 0.7615942}),
      points("ThresholdedRelu", {0.5, 1, 1.5}, {0, 0, 1.5}),
  };
}

TEST(Unary, RefusesElementsItIsNotDefinedFor) {
  expect_rejected({.op = "Exp", .inputs = {draw({2}, DType::kI32)}},
                  "not defined for elements of type i32");
  expect_rejected({.op = "Not", .inputs = {draw({2})}}, "not defined for elements of type f32");
}

TEST(Unary, RefusesAttributesItDoesNotHave) {
  expect_rejected({.op = "Relu", .inputs = {draw({2})}, .attributes = {{"alpha", 0.1F}}},
                  "no attribute 'alpha'");
}

}  // namespace trainyard::testing
