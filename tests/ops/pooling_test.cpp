// Cases of pooling over windows, over everything and over regions, and of its inverse.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

OpCase pool(const char* op, Attributes attributes, OpInput x, std::vector<OpOutput> y) {
  return {.op = op,
          .inputs = {std::move(x)},
          .attributes = std::move(attributes),
          .outputs = std::move(y)};
}

OpCase unpool(std::vector<double> indices, const Shape& output, std::vector<double> y) {
  std::vector<double> dims(output.dims().begin(), output.dims().end());
  return {
      .op = "MaxUnpool",
      .inputs = {given({1, 1, 2, 2}, {5, 6, 7, 8}),
                 given({1, 1, 2, 2}, std::move(indices), DType::kI64), known_ints(std::move(dims))},
      .attributes = {{"kernel_shape", ints({2, 2})}, {"strides", ints({2, 2})}},
      .outputs = {gives(output, std::move(y))}};
}

OpInput three_by_two() {
  return given({1, 1, 2, 3}, {1, 5, 2, 4, 3, 6});
}

// One region over a 2 x 2 map of 1, 2, 3, 4.
OpCase align(Attributes attributes, std::vector<double> region, std::vector<double> y) {
  const auto size = static_cast<int64_t>(y.size());
  attributes.emplace("output_width", size);
  return {.op = "RoiAlign",
          .inputs = {given({1, 1, 2, 2}, {1, 2, 3, 4}), given({1, 4}, std::move(region)),
                     given({1}, {0}, DType::kI64)},
          .attributes = std::move(attributes),
          .outputs = {gives({1, 1, 1, size}, std::move(y))}};
}

}  // namespace

OpCases pooling_cases() {
  const Attribute two = ints({2});
  return {
      pool("MaxPool", {{"kernel_shape", ints({2, 2})}}, three_by_two(),
           {gives({1, 1, 1, 2}, {5, 6}), gives({1, 1, 1, 2}, {1, 5}, DType::kI64)}),
      pool("MaxPool", {{"kernel_shape", ints({2, 2})}, {"storage_order", int64_t{1}}},
           three_by_two(), {gives({1, 1, 1, 2}, {5, 6}), gives({1, 1, 1, 2}, {2, 5}, DType::kI64)}),
      pool("MaxPool", {{"kernel_shape", two}, {"strides", two}, {"ceil_mode", int64_t{1}}},
           given({1, 1, 3}, {1, 2, 3}), {gives({1, 1, 2}, {2, 3})}),
      pool("MaxPool", {{"kernel_shape", two}, {"dilations", two}}, given({1, 1, 4}, {1, 2, 3, 0}),
           {gives({1, 1, 2}, {3, 2})}),
      pool("MaxPool", {{"kernel_shape", two}, {"pads", ints({1, 1})}}, given({1, 1, 2}, {-1, -2}),
           {gives({1, 1, 3}, {-1, -1, -2})}),
      pool("MaxPool", {{"kernel_shape", two}}, given({1, 1, 2}, {-100, 3}, DType::kI8),
           {gives({1, 1, 1}, {3}, DType::kI8)}),
      pool("AveragePool", {{"kernel_shape", two}, {"pads", ints({1, 1})}},
           given({1, 1, 3}, {2, 4, 6}), {gives({1, 1, 4}, {2, 3, 5, 6})}),
      pool("AveragePool",
           {{"kernel_shape", two}, {"pads", ints({1, 1})}, {"count_include_pad", int64_t{1}}},
           given({1, 1, 3}, {2, 4, 6}), {gives({1, 1, 4}, {1, 3, 5, 3})}),
      // What ceil_mode adds beyond the padding does not count.
      pool("AveragePool",
           {{"kernel_shape", two},
            {"strides", two},
            {"ceil_mode", int64_t{1}},
            {"count_include_pad", int64_t{1}}},
           given({1, 1, 3}, {2, 4, 6}), {gives({1, 1, 2}, {3, 6})}),
      pool("GlobalAveragePool", {}, given({1, 2, 2}, {1, 3, 5, 9}, DType::kF64),
           {gives({1, 2, 1}, {2, 7}, DType::kF64)}),
      pool("LpPool", {{"kernel_shape", two}, {"p", int64_t{1}}}, given({1, 1, 2}, {3, -4}),
           {gives({1, 1, 1}, {7})}),
      // Indices count in the smallest unpooled tensor, 4 x 4 here.
      unpool({5, 7, 13, 15}, {1, 1, 4, 4}, {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8}),
      unpool({0, 2, 8, 10}, {1, 1, 4, 5},
             {5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0}),
      {.op = "MaxRoiPool",
       .inputs = {three_by_two(), given({2, 5}, {0, 0, 0, 2, 1, 0, 1, 1, 1, 1})},
       .attributes = {{"pooled_shape", ints({1, 2})}},
       .outputs = {gives({2, 1, 1, 2}, {5, 6, 3, 3})}},
      align({{"sampling_ratio", int64_t{1}}}, {0.5, 0.5, 1.5, 1.5}, {2.5}),
      align({{"sampling_ratio", int64_t{1}},
             {"coordinate_transformation_mode", text("output_half_pixel")}},
            {0, 0, 1, 1}, {2.25, 2.75}),
      align({{"sampling_ratio", int64_t{2}}, {"mode", text("max")}}, {0.5, 0.5, 1.5, 1.5}, {2.25}),
      align({}, {10, 10, 12, 12}, {0}),
  };
}

TEST(MaxPool, RefusesWindowsThatDoNotFit) {
  const auto refused = [](Attributes attributes, std::string_view part) {
    expect_rejected(pool("MaxPool", std::move(attributes), draw({1, 1, 3, 3}), {}), part);
  };
  refused({{"kernel_shape", ints({4, 2})}}, "a window of 4 does not fit into 3");
  refused({{"kernel_shape", ints({2})}}, "has 2 spatial dimensions, the kernel has 1");
  refused({{"kernel_shape", ints({0, 2})}}, "a kernel of size 0 is not possible");
  refused({}, "attribute 'kernel_shape' is missing");
}

TEST(LpPool, RefusesANormBelowOne) {
  expect_rejected(
      pool("LpPool", {{"kernel_shape", ints({2})}, {"p", int64_t{0}}}, draw({1, 1, 3}), {}),
      "p is 0, expected 1 or more");
}

TEST(MaxUnpool, RefusesIndicesOutsideAndShapesTooSmall) {
  expect_rejected(unpool({0, 2, 8, 16}, {1, 1, 4, 4}, {}), "index 16 is outside the 16 elements");
  expect_rejected(unpool({0, 2, 8, 10}, {1, 1, 3, 4}, {}), "output_shape 1x1x3x4 is smaller");
}

TEST(RoiAlign, RefusesRegionsOfImagesThatAreNotThere) {
  OpCase c = align({}, {0, 0, 1, 1}, {0});
  c.inputs[2].values = {1};
  expect_rejected(c, "region 0 is of image 1, but there are 1 images");
  expect_rejected(align({{"mode", text("min")}}, {0, 0, 1, 1}, {0}), "mode 'min'");
}

}  // namespace trainyard::testing
