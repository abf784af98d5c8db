// Cases of the binary family: values, broadcasting and element types.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

// A column and a row meet in a matrix.
OpCase crossed(const char* op, std::vector<double> column, std::vector<double> row,
               std::vector<double> y, DType dtype = DType::kF32, DType y_dtype = DType::kF32,
               Attributes attributes = {}) {
  const auto rows = static_cast<int64_t>(column.size());
  const auto columns = static_cast<int64_t>(row.size());
  return {.op = op,
          .inputs = {given({rows, 1}, std::move(column), dtype),
                     given({columns}, std::move(row), dtype)},
          .attributes = std::move(attributes),
          .outputs = {gives({rows, columns}, std::move(y), y_dtype)}};
}

OpCase compared(const char* op, std::vector<double> y, DType dtype) {
  return crossed(op, {1, 2}, {1, 2, 3}, std::move(y), dtype, DType::kBool);
}

OpCase logical(const char* op, std::vector<double> y) {
  return crossed(op, {0, 1}, {0, 1}, std::move(y), DType::kBool, DType::kBool);
}

OpCase whole(const char* op, std::vector<double> column, std::vector<double> row,
             std::vector<double> y, DType dtype, Attributes attributes = {}) {
  return crossed(op, std::move(column), std::move(row), std::move(y), dtype, dtype,
                 std::move(attributes));
}

}  // namespace

OpCases binary_cases() {
  return {
      crossed("Add", {1, 2}, {10, 20, 30}, {11, 21, 31, 12, 22, 32}),
      whole("Add", {250}, {10}, {4}, DType::kU8),
      {.op = "Add", .inputs = {draw({2, 3, 4, 5}), draw({3, 1, 1})}},
      {.op = "Add", .inputs = {draw({0, 3}), draw({3})}, .outputs = {gives_type({0, 3})}},
      logical("And", {0, 0, 0, 1}),
      whole("BitShift", {1, 4}, {1, 2}, {2, 4, 8, 16}, DType::kU8, {{"direction", text("LEFT")}}),
      whole("BitShift", {16, 4}, {1, 2}, {8, 4, 2, 1}, DType::kU32, {{"direction", text("RIGHT")}}),
      crossed("Div", {1, 3}, {2, 4}, {0.5, 0.25, 1.5, 0.75}),
      whole("Div", {-7, 7}, {2, 0}, {-3, 0, 3, 0}, DType::kI32),
      compared("Equal", {1, 0, 0, 0, 1, 0}, DType::kF32),
      logical("Equal", {1, 0, 0, 1}),
      compared("Greater", {0, 0, 0, 1, 0, 0}, DType::kI64),
      compared("GreaterOrEqual", {1, 0, 0, 1, 1, 0}, DType::kF64),
      compared("Less", {0, 1, 1, 0, 0, 1}, DType::kU64),
      compared("LessOrEqual", {1, 1, 1, 0, 1, 1}, DType::kF16),
      whole("Mod", {-4, 7}, {3, -3}, {2, -1, 1, -2}, DType::kI32),
      whole("Mod", {-4, 7}, {3, -3}, {-1, -1, 1, 1}, DType::kI64, {{"fmod", int64_t{1}}}),
      crossed("Mod", {-4.5, 5}, {3}, {-1.5, 2}, DType::kF32, DType::kF32, {{"fmod", int64_t{1}}}),
      crossed("Mul", {1, 2}, {10, 20}, {10, 20, 20, 40}),
      whole("Mul", {-3}, {5}, {-15}, DType::kI64),
      logical("Or", {0, 1, 1, 1}),
      {.op = "PRelu",
       .inputs = {given({2, 2}, {-1, 2, -3, -4}), given({2}, {0.5, 0.25})},
       .outputs = {gives({2, 2}, {-0.5, 2, -1.5, -1})}},
      crossed("Pow", {2, 3}, {0, 2, 0.5}, {1, 4, 1.4142136, 1, 9, 1.7320508}),
      {.op = "Pow",
       .inputs = {given({2}, {2, 3}), given({2}, {3, -1}, DType::kI64)},
       .outputs = {gives({2}, {8, 1.0 / 3})}},
      {.op = "Pow",
       .inputs = {given({2}, {2, 3}, DType::kI32), given({2}, {3, 0.5})},
       .outputs = {gives({2}, {8, 1}, DType::kI32)}},
      whole("Pow", {2, -3}, {3, 0}, {8, 1, -27, 1}, DType::kI64),
      crossed("Sub", {1, 2}, {10, 20}, {-9, -19, -8, -18}),
      // As pictures are normalized: one number per channel, for all of them.
      {.op = "Sub", .inputs = {draw({2, 3, 4, 5}), draw({1, 3, 1, 1})}},
      {.op = "Sub", .inputs = {draw({1, 3, 1, 1}), draw({2, 3, 80, 90})}},
      {.op = "Sub", .inputs = {draw({2, 24, 3, 3}), draw({1, 24, 1, 1})}},
      {.op = "Mul", .inputs = {draw({2, 3, 80, 90}), draw({2, 3, 1, 1})}},
      logical("Xor", {0, 1, 1, 0}),
  };
}

TEST(Binary, NormalizationOfABatchIsFast) {
  for (const int64_t batch : {1, 8}) {
    EXPECT_TRUE(is_fast({.op = "Div", .inputs = {draw({batch, 3, 9, 9}), draw({1, 3, 1, 1})}}))
        << batch;
  }
}

TEST(Binary, RefusesShapesThatDoNotMeet) {
  expect_rejected({.op = "Add", .inputs = {draw({2, 3}), draw({4})}},
                  "shapes 2x3 and 4 cannot be broadcast together");
}

TEST(Binary, RefusesMixedElements) {
  expect_rejected({.op = "Mul", .inputs = {draw({2}), draw({2}, DType::kI64)}},
                  "operands are f32 and i64");
  expect_rejected({.op = "And", .inputs = {draw({2}), draw({2})}}, "not defined");
}

TEST(Binary, RefusesADirectionThatIsNone) {
  expect_rejected({.op = "BitShift",
                   .inputs = {draw({2}, DType::kU8), draw({2}, DType::kU8)},
                   .attributes = {{"direction", text("UP")}}},
                  "direction 'UP'");
}

}  // namespace trainyard::testing
