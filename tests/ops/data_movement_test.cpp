// Cases of the operators that move, pick and describe elements.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {

OpCases data_movement_cases() {
  const auto shared = std::make_shared<const Tensor>(Tensor::of_ints(std::array{int64_t{4}}));
  return {
      {.op = "Clip",
       .inputs = {given({3}, {-5, 1, 5}), known({}, {-1}), known({}, {2})},
       .outputs = {gives({3}, {-1, 1, 2})}},
      {.op = "Clip",
       .inputs = {given({3}, {-5, 1, 5}, DType::kI8), absent(), known({}, {2}, DType::kI8)},
       .outputs = {gives({3}, {-5, 1, 2}, DType::kI8)}},
      {.op = "Concat",
       .inputs = {given({2, 1}, {1, 2}), given({2, 2}, {3, 4, 5, 6})},
       .attributes = {{"axis", int64_t{-1}}},
       .outputs = {gives({2, 3}, {1, 3, 4, 2, 5, 6})}},
      {.op = "Constant",
       .inputs = {},
       .attributes = {{"value", shared}},
       .outputs = {gives({1}, {4}, DType::kI64)}},
      {.op = "Constant",
       .inputs = {},
       .attributes = {{"value_float", 0.5F}},
       .outputs = {gives({}, {0.5})}},
      {.op = "Dropout",
       .inputs = {given({3}, {1, 2, 3})},
       .outputs = {gives({3}, {1, 2, 3}), gives({3}, {1, 1, 1}, DType::kBool)}},
      {.op = "Flatten",
       .inputs = {given({1, 2, 2}, {1, 2, 3, 4})},
       .attributes = {{"axis", int64_t{2}}},
       .outputs = {gives({2, 2}, {1, 2, 3, 4})}},
      {.op = "Gather",
       .inputs = {given({3, 2}, {1, 2, 3, 4, 5, 6}), given({2}, {-1, 0}, DType::kI64)},
       .outputs = {gives({2, 2}, {5, 6, 1, 2})}},
      {.op = "Gather",
       .inputs = {given({2, 2}, {1, 2, 3, 4}, DType::kBF16), given({}, {1}, DType::kI32)},
       .attributes = {{"axis", int64_t{1}}},
       .outputs = {gives({2}, {2, 4}, DType::kBF16)}},
      {.op = "Identity", .inputs = {draw({2, 3})}},
      {.op = "Pad",
       .inputs = {given({2, 2}, {1, 2, 3, 4}), known_ints({0, 1, 0, -1}), known({}, {9})},
       .outputs = {gives({2, 2}, {9, 1, 9, 3})}},
      {.op = "Pad",
       .inputs = {given({3}, {1, 2, 3}), known_ints({2, 2})},
       .attributes = {{"mode", text("reflect")}},
       .outputs = {gives({7}, {3, 2, 1, 2, 3, 2, 1})}},
      {.op = "Pad",
       .inputs = {given({3}, {1, 2, 3}, DType::kI32), known_ints({1, 2})},
       .attributes = {{"mode", text("edge")}},
       .outputs = {gives({6}, {1, 1, 2, 3, 3, 3}, DType::kI32)}},
      {.op = "Reshape",
       .inputs = {draw({2, 3, 4}), known_ints({0, -1})},
       .outputs = {gives_type({2, 12})}},
      {.op = "Shape",
       .inputs = {draw({2, 3, 4})},
       .attributes = {{"start", int64_t{-2}}},
       .outputs = {gives({2}, {3, 4}, DType::kI64)}},
      {.op = "Size", .inputs = {draw({2, 3, 4})}, .outputs = {gives({}, {24}, DType::kI64)}},
      {.op = "Slice",
       .inputs = {given({5}, {0, 1, 2, 3, 4}), known_ints({-1}), known_ints({-100}),
                  known_ints({0}), known_ints({-2})},
       .outputs = {gives({3}, {4, 2, 0})}},
      {.op = "Slice",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6}), known_ints({1}), known_ints({100}),
                  known_ints({-1})},
       .outputs = {gives({2, 2}, {2, 3, 5, 6})}},
      // As heads of detectors end: channels last, whole blocks of them and not.
      {.op = "Transpose",
       .inputs = {draw({2, 24, 3, 5})},
       .attributes = {{"perm", ints({0, 2, 3, 1})}}},
      {.op = "Transpose",
       .inputs = {draw({2, 21, 3, 5})},
       .attributes = {{"perm", ints({0, 2, 3, 1})}}},
      {.op = "Transpose",
       .inputs = {given({2, 3}, {1, 2, 3, 4, 5, 6})},
       .outputs = {gives({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {.op = "Transpose",
       .inputs = {draw({2, 3, 4}, DType::kU8)},
       .attributes = {{"perm", ints({1, 0, 2})}},
       .outputs = {gives_type({3, 2, 4}, DType::kU8)}},
  };
}

TEST(Concat, RefusesShapesThatDoNotJoin) {
  expect_rejected({.op = "Concat",
                   .inputs = {draw({2, 3}), draw({2, 4})},
                   .attributes = {{"axis", int64_t{0}}}},
                  "does not join");
}

TEST(Gather, RefusesAnIndexOutside) {
  expect_rejected({.op = "Gather", .inputs = {draw({3}), given({1}, {3}, DType::kI64)}},
                  "index 3 is outside 3 entries");
}

TEST(Dropout, KeepsTheAskedShareAndScalesIt) {
  const OpCase c = {.op = "Dropout",
                    .inputs = {given({10000}, std::vector<double>(10000, 1.0)), known({}, {0.25}),
                               known({}, {1}, DType::kBool)},
                    .attributes = {{"seed", int64_t{3}}},
                    .outputs = {gives_type({10000}), gives_type({10000}, DType::kBool)}};
  check_case(c);
  const std::vector<Tensor> outputs = run_reference(c);
  int64_t kept = 0;
  for (size_t i = 0; i < 10000; ++i) {
    const bool keep = outputs[1].values<bool>()[i];
    EXPECT_EQ(outputs[0].values<float>()[i], keep ? 4.0F / 3 : 0.0F);
    kept += keep ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 7500, 150);  // 3.5 standard deviations
}

}  // namespace trainyard::testing
