// Cases of the operators that make, spread, pick and place elements by indices and shapes.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include <gtest/gtest.h>

#include "ops/cases.h"
#include "ops/layout/dtype_code.h"

namespace trainyard::testing {
namespace {

constexpr DType kI64 = DType::kI64;

Attribute code(DType dtype) {
  return ops::dtype_code(dtype);
}

}  // namespace

namespace {

OpCases first_cases() {
  const auto nine = std::make_shared<const Tensor>(Tensor::of_ints(std::array{int64_t{9}}));
  return {
      {.op = "Cast",
       .inputs = {given({3}, {-1.7, 0, 2.5})},
       .attributes = {{"to", code(kI64)}},
       .outputs = {gives({3}, {-1, 0, 2}, kI64)}},
      {.op = "Cast",
       .inputs = {given({2}, {0, -3}, DType::kI32)},
       .attributes = {{"to", code(DType::kBool)}},
       .outputs = {gives({2}, {0, 1}, DType::kBool)}},
      {.op = "Cast",
       .inputs = {given({3}, {-1.75, 0, 25}, DType::kText)},
       .attributes = {{"to", code(DType::kF32)}},
       .outputs = {gives({3}, {-1.75, 0, 25})}},
      {.op = "Cast",
       .inputs = {given({2}, {0.1F, 1e20F})},
       .attributes = {{"to", code(DType::kText)}},
       .outputs = {gives({2}, {0.1, 1e20}, DType::kText)}},
      {.op = "Equal",
       .inputs = {given({2, 2}, {1, 2, 2, 1}, DType::kText), given({2}, {1, 1}, DType::kText)},
       .outputs = {gives({2, 2}, {1, 0, 0, 1}, DType::kBool)}},
      {.op = "StringNormalizer",
       .inputs = {given({1, 4}, {7, 8, 7, 9}, DType::kText)},
       .attributes = {{"stopwords", std::vector<std::string>{"7"}}},
       .outputs = {gives({1, 2}, {8, 9}, DType::kText)}},
      {.op = "CastLike",
       .inputs = {given({2}, {1.5, 2.5}), draw({1}, DType::kF16)},
       .outputs = {gives({2}, {1.5, 2.5}, DType::kF16)}},
      {.op = "Compress",
       .inputs = {given({3, 2}, {1, 2, 3, 4, 5, 6}), known({3}, {0, 1, 1}, DType::kBool)},
       .attributes = {{"axis", int64_t{0}}},
       .outputs = {gives({2, 2}, {3, 4, 5, 6})}},
      {.op = "Compress",
       .inputs = {given({3, 2}, {1, 2, 3, 4, 5, 6}), given({4}, {0, 1, 0, 1}, DType::kBool)},
       .outputs = {gives({2}, {2, 4})}},
      {.op = "ConstantOfShape",
       .inputs = {known_ints({2, 2})},
       .attributes = {{"value", nine}},
       .outputs = {gives({2, 2}, {9, 9, 9, 9}, kI64)}},
      {.op = "ConstantOfShape", .inputs = {known_ints({})}, .outputs = {gives({}, {0})}},
      {.op = "DepthToSpace",
       .inputs = {given({1, 4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31})},
       .attributes = {{"blocksize", int64_t{2}}},
       .outputs = {gives({1, 1, 2, 4}, {0, 10, 1, 11, 20, 30, 21, 31})}},
      {.op = "DepthToSpace",
       .inputs = {given({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7})},
       .attributes = {{"blocksize", int64_t{2}}, {"mode", text("CRD")}},
       .outputs = {gives({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}},
      {.op = "Expand",
       .inputs = {given({2, 1}, {1, 2}), known_ints({3, 1, 2})},
       .outputs = {gives({3, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2})}},
      {.op = "EyeLike",
       .inputs = {draw({2, 3})},
       .attributes = {{"k", int64_t{1}}, {"dtype", code(DType::kI32)}},
       .outputs = {gives({2, 3}, {0, 1, 0, 0, 0, 1}, DType::kI32)}},
      {.op = "GatherElements",
       .inputs = {given({2, 2}, {1, 2, 3, 4}), given({2, 2}, {0, 0, -1, 0}, kI64)},
       .attributes = {{"axis", int64_t{1}}},
       .outputs = {gives({2, 2}, {1, 1, 4, 3})}},
      {.op = "GatherND",
       .inputs = {given({2, 2}, {0, 1, 2, 3}), given({2, 2}, {0, 0, 1, 1}, kI64)},
       .outputs = {gives({2}, {0, 3})}},
      {.op = "GatherND",
       .inputs = {given({2, 2, 1}, {0, 1, 2, 3}), given({2, 1}, {1, 0}, kI64)},
       .attributes = {{"batch_dims", int64_t{1}}},
       .outputs = {gives({2, 1}, {1, 2})}},
      {.op = "NonZero",
       .inputs = {given({2, 2}, {1, 0, 1, 1})},
       .outputs = {gives({2, 3}, {0, 1, 1, 0, 0, 1}, kI64)}},
  };
}

OpCases second_cases() {
  return {
      {.op = "OneHot",
       .inputs = {given({3}, {0, -1, 5}, kI64), known({}, {3}, kI64), given({2}, {2, 7})},
       .outputs = {gives({3, 3}, {7, 2, 2, 2, 2, 7, 2, 2, 2})}},
      {.op = "Range",
       .inputs = {known({}, {1}), known({}, {5}), known({}, {2})},
       .outputs = {gives({2}, {1, 3})}},
      {.op = "Range",
       .inputs = {known({}, {10}, kI64), known({}, {4}, kI64), known({}, {-3}, kI64)},
       .outputs = {gives({2}, {10, 7}, kI64)}},
      {.op = "ReverseSequence",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6}), given({2}, {2, 3}, kI64)},
       .attributes = {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       .outputs = {gives({2, 3}, {2, 1, 3, 6, 5, 4})}},
      {.op = "ScatterElements",
       .inputs = {given({1, 3}, {1, 2, 3}), given({1, 2}, {1, 1}, kI64), given({1, 2}, {10, 20})},
       .attributes = {{"axis", int64_t{1}}, {"reduction", text("add")}},
       .outputs = {gives({1, 3}, {1, 32, 3})}},
      {.op = "ScatterND",
       .inputs = {given({4}, {1, 2, 3, 4}), given({2, 1}, {3, 0}, kI64), given({2}, {9, 8})},
       .outputs = {gives({4}, {8, 2, 3, 9})}},
      {.op = "SpaceToDepth",
       .inputs = {given({1, 1, 2, 4}, {0, 10, 1, 11, 20, 30, 21, 31})},
       .attributes = {{"blocksize", int64_t{2}}},
       .outputs = {gives({1, 4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31})}},
      {.op = "Split",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6}), known_ints({1, 2})},
       .attributes = {{"axis", int64_t{1}}},
       .outputs = {gives({2, 1}, {1, 4}), gives({2, 2}, {2, 3, 5, 6})}},
      {.op = "Split",
       .inputs = {given({4}, {1, 2, 3, 4})},
       .outputs = {gives({2}, {1, 2}), gives({2}, {3, 4})}},
      {.op = "Squeeze",
       .inputs = {given({1, 2, 1}, {1, 2}), known_ints({-1})},
       .outputs = {gives({1, 2}, {1, 2})}},
      {.op = "Squeeze", .inputs = {given({1, 2, 1}, {1, 2})}, .outputs = {gives({2}, {1, 2})}},
      {.op = "Tile",
       .inputs = {given({1, 2}, {1, 2}), known_ints({2, 2})},
       .outputs = {gives({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})}},
      {.op = "Trilu",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6})},
       .outputs = {gives({2, 3}, {1, 2, 3, 0, 5, 6})}},
      {.op = "Trilu",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6}, kI64), known({}, {-1}, kI64)},
       .attributes = {{"upper", int64_t{0}}},
       .outputs = {gives({2, 3}, {0, 0, 0, 4, 0, 0}, kI64)}},
      {.op = "Unsqueeze",
       .inputs = {given({2}, {1, 2}), known_ints({0, -1})},
       .outputs = {gives({1, 2, 1}, {1, 2})}},
      {.op = "Where",
       .inputs = {given({2, 1}, {1, 0}, DType::kBool), given({2}, {1, 2}), given({}, {9})},
       .outputs = {gives({2, 2}, {1, 2, 9, 9})}},
  };
}

}  // namespace

OpCases indexing_cases() {
  OpCases cases = first_cases();
  OpCases rest = second_cases();
  std::move(rest.begin(), rest.end(), std::back_inserter(cases));
  return cases;
}

TEST(Cast, RefusesTypesItDoesNotKnow) {
  expect_rejected({.op = "Cast", .inputs = {draw({2})}, .attributes = {{"to", int64_t{14}}}},
                  "element type 14");
}

TEST(GatherND, RefusesAnIndexOutside) {
  expect_rejected({.op = "GatherND", .inputs = {draw({2}), given({1, 1}, {-3}, kI64)}},
                  "index -3 is outside 2 entries");
}

TEST(ScatterND, RefusesIndicesWithoutTuples) {
  expect_rejected({.op = "ScatterND", .inputs = {draw({4}), given({}, {1}, kI64), draw({4})}},
                  "indices scalar");
}

TEST(ScatterND, RefusesUpdatesOfAnotherShape) {
  expect_rejected(
      {.op = "ScatterND", .inputs = {draw({4}), given({2, 1}, {3, 0}, kI64), draw({3})}},
      "updates have shape 3, expected 2");
}

TEST(Range, RefusesToGoNowhere) {
  expect_rejected({.op = "Range", .inputs = {known({}, {1}), known({}, {5}), known({}, {0})}},
                  "delta of 0");
}

TEST(Split, RefusesPiecesThatDoNotAddUp) {
  expect_rejected({.op = "Split",
                   .inputs = {draw({4}), known_ints({1, 2})},
                   .outputs = {gives_type({1}), gives_type({2})}},
                  "pieces of 3 in all are cut from a dimension of 4");
}

TEST(Squeeze, RefusesADimensionThatIsNotOne) {
  expect_rejected({.op = "Squeeze", .inputs = {draw({2, 1}), known_ints({0})}}, "is not 1");
}

}  // namespace trainyard::testing
