// Cases of Conv and its relatives.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

OpCase conv(Attributes attributes, OpInput x, OpInput w, OpOutput y) {
  return {.op = "Conv",
          .inputs = {std::move(x), std::move(w)},
          .attributes = std::move(attributes),
          .outputs = {std::move(y)}};
}

// Two elements, spread by a kernel of 1 and 10.
OpCase spread(Attributes attributes, OpOutput y) {
  return {.op = "ConvTranspose",
          .inputs = {given({1, 1, 2}, {1, 2}), given({1, 1, 2}, {1, 10})},
          .attributes = std::move(attributes),
          .outputs = {std::move(y)}};
}

// The same with a kernel of 1, 10 and 100, stride 2.
OpCase spread_same(std::string_view auto_pad, std::vector<double> y) {
  return {.op = "ConvTranspose",
          .inputs = {given({1, 1, 2}, {1, 2}), given({1, 1, 3}, {1, 10, 100})},
          .attributes = {{"auto_pad", text(auto_pad)}, {"strides", ints({2})}},
          .outputs = {gives({1, 1, 4}, std::move(y))}};
}

// Reals 1 and 5, times 1, in steps of y_scale above 100.
OpCase qlinear(double y_scale, std::vector<OpInput> bias, std::vector<double> y) {
  std::vector<OpInput> inputs = {given({1, 1, 2}, {12, 20}, kU8),
                                 known({}, {0.5}),
                                 known({}, {10}, kU8),
                                 given({1, 1, 1}, {4}, kU8),
                                 known({}, {0.25}),
                                 known({}, {0}, kU8),
                                 known({}, {y_scale}),
                                 known({}, {100}, kU8)};
  for (OpInput& b : bias) inputs.push_back(std::move(b));
  return {.op = "QLinearConv",
          .inputs = std::move(inputs),
          .outputs = {gives({1, 1, 2}, std::move(y), kU8)}};
}

}  // namespace

OpCases convolution_cases() {
  return {
      conv({{"dilations", ints({2})}, {"pads", ints({1, 0})}}, given({1, 1, 4}, {1, 2, 3, 4}),
           given({1, 1, 2}, {1, 10}), gives({1, 1, 3}, {20, 31, 42})),
      conv({{"auto_pad", text("SAME_LOWER")}, {"strides", ints({2})}}, given({1, 1, 3}, {1, 2, 3}),
           given({1, 1, 2}, {1, 10}), gives({1, 1, 2}, {10, 32})),
      conv({{"auto_pad", text("VALID")}}, draw({2, 3, 4, 5, 6}, DType::kF64),
           draw({4, 3, 2, 1, 3}, DType::kF64), gives_type({2, 4, 3, 5, 4}, DType::kF64)),
      conv({}, given({1, 1, 2}, {1, 2}, DType::kF16), given({1, 1, 1}, {3}, DType::kF16),
           gives({1, 1, 2}, {3, 6}, DType::kF16)),
      {.op = "Conv",
       .inputs = {given({1, 2, 2}, {1, 2, 3, 4}), given({2, 1, 1}, {10, 100}), given({2}, {1, 2})},
       .attributes = {{"group", int64_t{2}}},
       .outputs = {gives({1, 2, 2}, {11, 21, 302, 402})}},
      {.op = "ConvInteger",
       .inputs = {given({1, 1, 3}, {1, 2, 3}, kU8), given({2, 1, 1}, {5, 5}, kU8),
                  known({}, {1}, kU8), known({2}, {3, 4}, kU8)},
       .outputs = {gives({1, 2, 3}, {0, 2, 4, 0, 1, 2}, DType::kI32)}},
      spread({{"strides", ints({2})}}, gives({1, 1, 4}, {1, 10, 2, 20})),
      spread({{"strides", ints({2})}, {"output_padding", ints({1})}},
             gives({1, 1, 5}, {1, 10, 2, 20, 0})),
      spread({{"strides", ints({2})}, {"pads", ints({1, 1})}}, gives({1, 1, 2}, {10, 2})),
      spread({{"strides", ints({2})}, {"output_shape", ints({3})}}, gives({1, 1, 3}, {10, 2, 20})),
      spread({{"strides", ints({2})}, {"output_shape", ints({6})}},
             gives({1, 1, 6}, {1, 10, 2, 20, 0, 0})),
      spread({{"dilations", ints({2})}}, gives({1, 1, 4}, {1, 2, 10, 20})),
      spread_same("SAME_UPPER", {1, 10, 102, 20}),
      spread_same("SAME_LOWER", {10, 102, 20, 200}),
      {.op = "ConvTranspose",
       .inputs = {given({1, 2, 1}, {1, 2}), given({2, 1, 1}, {10, 100}), given({2}, {5, 6})},
       .attributes = {{"group", int64_t{2}}},
       .outputs = {gives({1, 2, 1}, {15, 206})}},
      // 0.5 and 2.5 steps are rounded to even.
      qlinear(2, {}, {100, 102}),
      qlinear(2, {given({1}, {8}, DType::kI32)}, {101, 103}),
      qlinear(0.001, {}, {255, 255}),
  };
}

TEST(Conv, RefusesOperandsThatDoNotFit) {
  const OpInput w = draw({4, 2, 3, 3});
  const auto refused = [&](OpInput x, Attributes attributes, std::string_view part) {
    expect_rejected(
        {.op = "Conv", .inputs = {std::move(x), w}, .attributes = std::move(attributes)}, part);
  };
  refused(draw({1, 3, 5, 5}), {}, "input has 3 channels, the weights expect 2 x 1 groups");
  refused(draw({1, 6, 5, 5}), {{"group", int64_t{3}}}, "do not divide into 3 groups");
  refused(draw({1, 2, 2, 5}), {}, "a window of 3 does not fit into 2 padded positions");
  refused(draw({1, 2, 5}), {}, "do not fit input of shape 1x2x5");
  refused(draw({2, 5}), {}, "expected N x C x spatial");
  refused(draw({1, 2, 5, 5}, DType::kF64), {}, "weights are f32 but the input is f64");
  refused(draw({1, 2, 5, 5}), {{"kernel_shape", ints({2, 2})}}, "'kernel_shape' differs");
  refused(draw({1, 2, 5, 5}), {{"strides", ints({0, 1})}}, "'strides' holds 0");
  refused(draw({1, 2, 5, 5}), {{"pads", ints({1, 1})}}, "'pads' has 2 entries, expected 4");
  refused(draw({1, 2, 5, 5}), {{"auto_pad", text("SAME")}}, "auto_pad 'SAME' is not one of");
}

TEST(Conv, RefusesABiasOfAnotherSize) {
  expect_rejected({.op = "Conv", .inputs = {draw({1, 2, 5}), draw({4, 2, 3}), draw({3})}},
                  "bias has shape 3, expected 4");
}

TEST(ConvTranspose, RefusesOperandsThatDoNotFit) {
  expect_rejected({.op = "ConvTranspose", .inputs = {draw({1, 3, 4}), draw({2, 3, 2})}},
                  "input has 3 channels, the weights expect 2");
  expect_rejected(spread({{"pads", ints({2, 2})}}, {}), "would have size -1");
  expect_rejected(spread({{"output_padding", ints({-1})}}, {}), "'output_padding' holds -1");
}

TEST(ConvInteger, RefusesAZeroPointOfAnotherType) {
  expect_rejected(
      {.op = "ConvInteger",
       .inputs = {draw({1, 1, 3}, kU8), draw({1, 1, 1}, kU8), known({}, {0}, DType::kI8)}},
      "zero point, is i8, expected u8");
  expect_rejected({.op = "ConvInteger",
                   .inputs = {draw({1, 1, 3}, kU8), draw({2, 1, 1}, kU8), absent(),
                              known({3}, {0, 0, 0}, kU8)}},
                  "expected one number or 2 of them");
}

}  // namespace trainyard::testing
