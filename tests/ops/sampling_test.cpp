// Cases of Resize, GridSample, TopK and NonMaxSuppression.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/builder.h"
#include "ops/cases.h"

namespace trainyard::testing {
namespace {

OpCase resize_by(double scale, Attributes attributes, std::vector<double> x,
                 std::vector<double> y) {
  const auto size = static_cast<int64_t>(x.size());
  const auto resized = static_cast<int64_t>(y.size());
  return {.op = "Resize",
          .inputs = {given({size}, std::move(x)), absent(), known({1}, {scale})},
          .attributes = std::move(attributes),
          .outputs = {gives({resized}, std::move(y))}};
}

OpCase resize_to(Attributes attributes, std::vector<double> x, std::vector<double> y,
                 OpInput region = absent()) {
  const auto size = static_cast<int64_t>(x.size());
  const auto resized = static_cast<int64_t>(y.size());
  return {.op = "Resize",
          .inputs = {given({size}, std::move(x)), std::move(region), absent(),
                     known_ints({static_cast<double>(resized)})},
          .attributes = std::move(attributes),
          .outputs = {gives({resized}, std::move(y))}};
}

// A 2 x 2 image of 1, 2, 3, 4 read at one place.
OpCase sample(Attributes attributes, double x, double y, double value) {
  return {.op = "GridSample",
          .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4}), given({1, 1, 1, 2}, {x, y})},
          .attributes = std::move(attributes),
          .outputs = {gives({1, 1, 1, 1}, {value})}};
}

// Boxes 0 and 1 overlap by more than half, box 2 stands alone.
OpCase suppress(std::vector<OpInput> options, std::vector<double> kept) {
  const auto count = static_cast<int64_t>(kept.size()) / 3;
  std::vector<OpInput> inputs = {given({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 5, 1, 6}),
                                 given({1, 1, 3}, {0.5, 0.9, 0.3})};
  for (OpInput& option : options) inputs.push_back(std::move(option));
  return {.op = "NonMaxSuppression",
          .inputs = std::move(inputs),
          .outputs = {gives({count, 3}, std::move(kept), DType::kI64)}};
}

Attributes mode(std::string_view name, std::string_view coordinates = "half_pixel") {
  return {{"mode", text(name)}, {"coordinate_transformation_mode", text(coordinates)}};
}

}  // namespace

OpCases sampling_cases() {
  const double nan = std::nan("");
  Attributes excluding = mode("cubic");
  excluding.emplace("exclude_outside", int64_t{1});
  Attributes cropping = mode("linear", "tf_crop_and_resize");
  cropping.emplace("extrapolation_value", 9.0F);
  return {
      resize_by(2, mode("linear"), {0, 2}, {0, 0.5, 1.5, 2}),
      resize_by(2, mode("linear", "asymmetric"), {0, 2}, {0, 1, 2, 2}),
      resize_by(2, mode("nearest"), {1, 2}, {1, 1, 2, 2}),
      resize_by(0.7, mode("nearest", "asymmetric"), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                {0, 1, 3, 4, 6, 7, 9}),
      resize_by(2, excluding, {5, 5, 5, 5}, {5, 5, 5, 5, 5, 5, 5, 5}),
      resize_to(mode("linear", "align_corners"), {0, 2}, {0, 1, 2}),
      resize_to(mode("cubic", "align_corners"), {0, 2, 4, 6}, {0, 2, 4, 6}),
      resize_to(mode("linear", "pytorch_half_pixel"), {3, 5}, {3}),
      resize_to(cropping, {1, 2, 3}, {2, 3, 9}, known({2}, {0.5, 1.5})),
      sample({}, 0, 0, 2.5),
      sample({}, -1, -1, 0.25),
      sample({{"align_corners", int64_t{1}}}, 1, -1, 2),
      sample({{"mode", text("nearest")}}, 0.6, 0.4, 4),
      sample({{"padding_mode", text("border")}}, -5, 0.5, 3),
      sample({{"padding_mode", text("reflection")}, {"align_corners", int64_t{1}}}, 3, -1, 1),
      sample({{"mode", text("bicubic")}, {"align_corners", int64_t{1}}}, -1, 1, 3),
      {.op = "TopK",
       .inputs = {given({3, 2}, {1, 9, 1, 8, 0, 7}), known_ints({2})},
       .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
       .outputs = {gives({2, 2}, {0, 7, 1, 8}), gives({2, 2}, {2, 2, 0, 1}, DType::kI64)}},
      {.op = "TopK",
       .inputs = {given({3}, {1, nan, 2}), known_ints({2})},
       .outputs = {gives({2}, {nan, 2}), gives({2}, {1, 2}, DType::kI64)}},
      {.op = "TopK",
       .inputs = {given({3}, {-5, 3, 3}, DType::kI8), known_ints({0})},
       .outputs = {gives_type({0}, DType::kI8), gives_type({0}, DType::kI64)}},
      suppress({known({}, {10}, DType::kI64), known({}, {0.5})}, {0, 0, 1, 0, 0, 2}),
      suppress({known({}, {1}, DType::kI64), known({}, {0.5})}, {0, 0, 1}),
      suppress({known({}, {10}, DType::kI64), known({}, {0.95}), known({}, {0.4})},
               {0, 0, 1, 0, 0, 0}),
      suppress({}, {}),
  };
}

TEST(Resize, RefusesWhatIsUnclear) {
  OpCase both = resize_by(2, {}, {1, 2}, {1, 1, 2, 2});
  both.inputs.push_back(known_ints({4}));
  expect_rejected(both, "either scales or sizes, found both");
  expect_rejected({.op = "Resize", .inputs = {draw({2})}}, "found neither");
  expect_rejected(resize_by(-1, {}, {1, 2}, {}), "expected positive numbers");
  expect_rejected(resize_by(2, mode("bilinear"), {1, 2}, {}),
                  "mode 'bilinear' is not one of nearest, linear, cubic");
  expect_rejected(resize_to(mode("linear", "tf_crop_and_resize"), {1, 2}, {1}),
                  "needs the input roi");
  expect_rejected({.op = "Resize", .inputs = {draw({2, 2}), absent(), known({1}, {2})}},
                  "scales have shape 1, expected 2 numbers");
}

TEST(TopK, RefusesMoreThanThereAre) {
  expect_rejected({.op = "TopK", .inputs = {draw({3}), known_ints({4})}, .outputs = {{}, {}}},
                  "k is 4 but axis 0 has 3 elements");
  expect_rejected({.op = "TopK", .inputs = {draw({3}), known_ints({-1})}, .outputs = {{}, {}}},
                  "k is -1");
}

TEST(NonMaxSuppression, RefusesScoresOfOtherBoxes) {
  expect_rejected({.op = "NonMaxSuppression", .inputs = {draw({1, 3, 4}), draw({1, 2, 5})}},
                  "scores have shape 1x2x5");
  expect_rejected({.op = "NonMaxSuppression", .inputs = {draw({1, 3, 5}), draw({1, 2, 3})}},
                  "expected batch x boxes x 4");
}

// Choosing is expensive: what inference had to compute to know the shape is kept for the run.
TEST(NonMaxSuppression, KnownBoxesAreChosenOnce) {
  Graph graph;
  ops::Builder b(graph);
  Tensor boxes(DType::kF32, {1, 3, 4});
  const std::vector<float> corners = {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 5, 1, 6};
  std::copy(corners.begin(), corners.end(), boxes.view().as<float>());
  Tensor scores(DType::kF32, {1, 1, 3});
  const std::vector<float> of_boxes = {0.5F, 0.9F, 0.3F};
  std::copy(of_boxes.begin(), of_boxes.end(), scores.view().as<float>());
  Tensor most(DType::kI64, Shape{1});
  *most.view().as<int64_t>() = 3;
  const ValueId kept =
      b.add("NonMaxSuppression",
            {b.constant("boxes", std::move(boxes)), b.constant("scores", std::move(scores)),
             b.constant("most", std::move(most)), b.constant("overlap", Tensor::scalar(0.5F))});
  EXPECT_EQ(graph.value(kept).type, (TensorType{DType::kI64, {2, 3}}));
  const Tensor* chosen = graph.value(kept).constant.get();
  ASSERT_NE(chosen, nullptr);
  EXPECT_EQ(element_as_double(*chosen, 2), 1);
  EXPECT_EQ(element_as_double(*chosen, 5), 2);
}

TEST(GridSample, RefusesOtherGrids) {
  expect_rejected({.op = "GridSample", .inputs = {draw({1, 1, 2, 2}), draw({1, 2, 2, 3})}},
                  "the grid has shape 1x2x2x3");
  expect_rejected(sample({{"mode", text("cubic")}}, 0, 0, 0), "mode 'cubic'");
}

}  // namespace trainyard::testing
