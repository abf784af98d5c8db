// What a file or a request may bring that does not fit: refused with a message, or computed without
// looking beyond a tensor or at a coordinate that is none.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kHuge = int64_t{1} << 62;

OpInput given_ints(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return given({count}, std::move(values), DType::kI64);
}

TEST(Hostile, AxesNamedTwice) {
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp"}) {
    const Attributes drops = {{"keepdims", int64_t{0}}};
    const Attributes keeps = {{"keepdims", int64_t{1}}};
    for (const Attributes& attributes : {drops, keeps}) {
      expect_rejected({op, {draw({1000, 3}), given_ints({1, 1})}, attributes}, "named twice");
      expect_rejected({op, {draw({1000, 3}), given_ints({1, -1})}, attributes}, "named twice");
      expect_rejected({op, {draw({1000, 3}), known_ints({0, 0})}, attributes}, "named twice");
    }
  }
  expect_rejected({"ReduceMean", {draw({2, 3})}, {{"axes", ints({1, 1})}}}, "named twice");
}

// Attributes so large that a sum or product of them is beyond 64 bits.
TEST(Hostile, AttributesBeyondWhatCanBeAdded) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<OpInput> experts = {draw({2, 1}), draw({2, 1}), draw({2, 1}), draw({1, 2}),
                                        draw({2, 2})};
  for (const int64_t active : {kMost, -kMost - 1, int64_t{0}, int64_t{3}}) {
    expect_rejected({"GatedExperts", experts, {{"active", active}}}, "of 2 experts");
  }
  expect_rejected({"ReverseSequence",
                   {draw({2, 2}), given_ints({1, 1})},
                   {{"batch_axis", kMost}, {"time_axis", int64_t{2}}}},
                  "expected 0 and 1");
  expect_rejected({"QuantizeLinear",
                   {draw({2, 4}), draw({2, 2})},
                   {{"axis", int64_t{1}}, {"block_size", kMost}}},
                  "expected 2x1");
}

// Not asked at rest, so nobody would notice where nothing is dropped.
TEST(Hostile, DropoutModeThatIsNoBool) {
  expect_rejected({"Dropout", {draw({1, 7}), absent(), known({}, {0.5})}}, "training_mode is f32");
  expect_rejected({"Dropout", {draw({1, 7}), absent(), draw({})}}, "training_mode is f32");
}

TEST(Hostile, ShapesAndAxesThatComeLate) {
  // The result is known without them.
  expect_rejected({"Expand", {draw({3, 2}), given_ints({9, 7})}}, "cannot be broadcast");
  expect_rejected({"Expand", {draw({3, 2}), given_ints({3, -2})}}, "a dimension of -2");
  expect_rejected({"Reshape", {draw({}), known({2, 0}, {})}}, "expected whole numbers");
  expect_rejected({"Squeeze", {draw({1, 3}), given({1}, {0})}}, "the axes are f32");
  expect_rejected({"Unsqueeze", {draw({1, 3}), given({1}, {0})}}, "the axes are f32");
}

// Of which oneDNN makes no primitive.
TEST(Hostile, PoolsOfNothingButPadding) {
  const OpCase c = {
      "AveragePool",
      {given({1, 1, 0}, {})},
      {{"kernel_shape", ints({2})}, {"pads", ints({1, 1})}, {"count_include_pad", int64_t{1}}}};
  EXPECT_FALSE(is_fast(c));
  EXPECT_EQ(run_reference(c)[0].values<float>()[0], 0);
}

// By definition they would take a million million steps.
TEST(Hostile, LongTransformsEnd) {
  constexpr int64_t kPrime = 1'000'003;
  const OpCase c = {"DFT", {given({1, 2, 1}, {1, 3}), known({}, {kPrime}, DType::kI64)}};
  const std::vector<Tensor> y = run_reference(c);
  ASSERT_EQ(y[0].shape(), (Shape{1, kPrime, 2}));
  for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{123'456}, kPrime - 1}) {
    const double angle = -2 * std::acos(-1.0) * static_cast<double>(k) / kPrime;
    const auto at = static_cast<size_t>(2 * k);
    EXPECT_NEAR(y[0].values<float>()[at], 1 + 3 * std::cos(angle), 1e-5) << k;
    EXPECT_NEAR(y[0].values<float>()[at + 1], 3 * std::sin(angle), 1e-5) << k;
  }
}

// Query, key, value of batch x heads x rows x columns.
OpCase attention(Shape q, Shape k, Shape v) {
  return {.op = "Attention",
          .inputs = {draw(std::move(q)), draw(std::move(k)), draw(std::move(v))}};
}

TEST(Hostile, AttentionOfOtherBatchOrHeads) {
  expect_rejected(attention({64, 1, 1, 4}, {64, 1, 1, 4}, {1, 1, 1, 4}), "do not fit each other");
  expect_rejected(attention({64, 1, 1, 4}, {1, 1, 1, 4}, {64, 1, 1, 4}), "do not fit each other");
  expect_rejected(attention({1, 4, 2, 4}, {1, 2, 2, 4}, {1, 1, 2, 4}), "do not fit each other");
  OpCase rows = attention({2, 3, 4}, {2, 3, 4}, {1, 3, 4});
  rows.attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}};
  expect_rejected(rows, "do not fit each other");
}

TEST(Hostile, AttentionPastAndLengths) {
  const auto with = [](OpInput past_key, OpInput past_value, OpInput lengths) {
    OpCase c = attention({2, 1, 1, 4}, {2, 1, 1, 4}, {2, 1, 1, 4});
    for (OpInput& input : std::vector{absent(), past_key, past_value, lengths}) {
      c.inputs.push_back(input);
    }
    return c;
  };
  const OpInput past = draw({2, 1, 5, 4});
  expect_rejected(with(past, draw({2, 1, 1, 4}), absent()), "past values are");
  expect_rejected(with(draw({1, 1, 5, 4}), past, absent()), "past keys are");
  expect_rejected(with(past, draw({2, 1, 5, 3}), absent()), "past values are");
  expect_rejected(with(absent(), past, absent()), "but no keys");
  expect_rejected(with(past, past, given_ints({3})), "lengths are");
  expect_rejected(with(past, past, draw({2})), "expected integers");
}

OpCase linear_attention(OpInput past, OpInput decay, OpInput beta) {
  return {.op = "LinearAttention",
          .inputs = {draw({2, 3, 8}), draw({2, 3, 8}), draw({2, 3, 4}), past, decay, beta},
          .attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}};
}

TEST(Hostile, LinearAttentionState) {
  const OpInput past = draw({2, 2, 4, 2});
  const OpInput decay = draw({2, 3, 2});
  expect_rejected(linear_attention(draw({1, 1, 1, 1}), decay, decay), "the past state is");
  expect_rejected(linear_attention(past, draw({2}), decay), "the decay has shape");
  expect_rejected(linear_attention(past, draw({2, 3, 5}), decay), "the decay has shape");
  expect_rejected(linear_attention(past, decay, draw({2, 3})), "beta has shape");
  expect_rejected(linear_attention(past, decay, draw({1, 3, 2})), "beta has shape");
  OpCase values = linear_attention(past, decay, decay);
  values.inputs[2] = draw({1, 3, 4});
  expect_rejected(values, "do not fit");
}

TEST(Hostile, TensorScatter) {
  const auto with = [](Shape update, OpInput first) {
    return OpCase{"TensorScatter", {draw({2, 1, 4, 3}), draw(std::move(update)), first}};
  };
  expect_rejected(with({1, 1, 1, 3}, given_ints({0, 0})), "differ along axis 0");
  expect_rejected(with({2, 1, 1, 9}, given_ints({0, 0})), "differ along axis 3");
  expect_rejected(with({2, 1, 1, 3}, given_ints({0})), "first rows are");
  expect_rejected(with({2, 1, 1, 3}, given_ints({0, 4})), "outside the cache");
  expect_rejected(with({2, 1, 1, 3}, given_ints({0, -1})), "outside the cache");
  expect_rejected(with({2, 1, 2, 3}, given_ints({0, 9e18})), "outside the cache");
}

TEST(Hostile, GatherNdBatches) {
  const Attributes one = {{"batch_dims", int64_t{1}}};
  expect_rejected({"GatherND", {draw({8, 3}), given({2, 1}, {0, 0}, DType::kI64)}, one},
                  "batch dimension 0");
  expect_rejected(
      {"GatherND", {draw({2, 3}), given({9, 1}, std::vector<double>(9, 0), DType::kI64)}, one},
      "batch dimension 0");
}

TEST(Hostile, SliceBeyondTheRank) {
  const OpInput three = given_ints({0, 0, 0});
  expect_rejected({"Slice", {draw({4, 4}), three, three}}, "3 ranges");
  expect_rejected({"Slice", {draw({}), given_ints({0}), given_ints({1})}}, "1 ranges");
}

TEST(Hostile, RotaryEmbeddingPositions) {
  const auto with = [](OpInput positions, Shape table) {
    return OpCase{"RotaryEmbedding", {draw({2, 1, 3, 4}), draw(table), draw(table), positions}};
  };
  expect_rejected(with(given_ints({}), {5, 2}), "positions have shape");
  expect_rejected(with(given_ints({1, 2, 3}), {5, 2}), "positions have shape");
  expect_rejected(with(given_ints({5, 0}), {5, 2}), "outside the tables");
  expect_rejected(with(given_ints({-1, 0}), {5, 2}), "outside the tables");
  expect_rejected(with(absent(), {1, 1, 2}), "tables are");
}

TEST(Hostile, Windows) {
  const std::vector<int64_t> huge = {int64_t{1} << 30};
  const std::vector<int64_t> pads = {int64_t{1} << 30, int64_t{1} << 30};
  // One position whose window is mostly padding: as fast as the input is small.
  const OpCase pool{
      .op = "LpPool",
      .inputs = {given({1, 1, 2}, {3, 4})},
      .attributes = {{"kernel_shape", huge}, {"pads", pads}, {"strides", huge}, {"p", int64_t{2}}},
      .outputs = {gives({1, 1, 2}, {0, 5})}};
  check_case(pool);
  expect_rejected({"LpPool",
                   {draw({1, 1, 2})},
                   {{"kernel_shape", ints({int64_t{1} << 31})}, {"pads", ints({0, 0})}}},
                  "is not possible");
  expect_rejected({"MaxUnpool",
                   {draw({1, 1, 2}), given({1, 1, 2}, {0, 0}, DType::kI64)},
                   {{"kernel_shape", ints({kHuge})}, {"strides", ints({kHuge})}}},
                  "hold");
  expect_rejected({"ConvTranspose",
                   {draw({1, 1, 2}), draw({1, 1, 2})},
                   {{"output_shape", ints({-kHuge})}, {"strides", ints({2})}}},
                  "output dimension");
}

TEST(Hostile, Blocks) {
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    for (const int64_t block : {kHuge, int64_t{1} << 32, int64_t{-1}, int64_t{0}}) {
      expect_rejected({op, {draw({1, 4, 2, 2})}, {{"blocksize", block}}}, "blocksize is");
    }
  }
  const OpInput columns = draw({1, 4, 4});
  for (const double bad : {-1.0, 0.0, 9e18}) {
    if (bad != 0) {  // an image without pixels is one
      expect_rejected({"Col2Im", {columns, given_ints({bad, 5}), given_ints({2, 2})}}, "");
    }
    expect_rejected({"Col2Im", {columns, given_ints({3, 3}), given_ints({bad, 2})}}, "");
  }
  for (const char* name : {"strides", "dilations", "pads"}) {
    const std::vector<int64_t> list(4, kHuge);
    expect_rejected({"Col2Im", {columns, known_ints({3, 3}), known_ints({2, 2})}, {{name, list}}},
                    "");
  }
  const OpInput pieces = given_ints({-1, 5});
  expect_rejected({"Split", {draw({4}), pieces}, {}, {gives_type({1}), gives_type({3})}},
                  "a piece has size");
  const OpInput wraps = given_ints({9e18, 9e18});
  expect_rejected({"Split", {draw({4}), wraps}, {}, {gives_type({1}), gives_type({3})}}, "");
}

TEST(Hostile, CoordinatesThatAreNone) {
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
      const OpCase sample{.op = "GridSample",
                          .inputs = {draw({1, 1, 2, 2}),
                                     given({1, 1, 3, 2}, {kNaN, 0, kInfinity, 0, -1e300, 1e300})},
                          .attributes = {{"mode", text(mode)}, {"padding_mode", text(padding)}}};
      EXPECT_EQ(run_reference(sample)[0].num_elements(), 3) << padding << mode;
    }
  }
  const auto align = [](std::vector<double> corners, Attributes attributes) {
    return OpCase{"RoiAlign",
                  {draw({1, 1, 4, 4}), given({1, 4}, std::move(corners)), given_ints({0})},
                  std::move(attributes)};
  };
  expect_rejected(align({kNaN, 0, 2, 2}, {}), "corner");
  expect_rejected(align({0, 0, 2, 2}, {{"spatial_scale", std::numeric_limits<float>::quiet_NaN()}}),
                  "spatial_scale");
  expect_rejected(align({0, 0, 2, 2}, {{"sampling_ratio", int64_t{65535}}}), "sampling_ratio");
  // A region far larger than the image: most samples lie outside and are not visited.
  const Tensor far = std::move(run_reference(align({-9e8, -9e8, 9e8, 9e8}, {}))[0]);
  EXPECT_TRUE(std::isfinite(element_as_double(far, 0)));
}

TEST(Hostile, NumbersBeyondTheRangeOfWholeOnes) {
  const auto ints_of = [](const OpCase& c) { return to_ints(run_reference(c)[0]); };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ints_of({"ReduceLogSumExp", {given_ints({1000, 1000})}}), std::vector<int64_t>{1000});
  EXPECT_EQ(ints_of({"ReduceLogSum", {given_ints({0, 0})}}), std::vector<int64_t>{-kMost - 1});
  const OpInput one = given({1, 1}, {1}, DType::kI64);
  EXPECT_EQ(ints_of({"Gemm", {one, one}, {{"alpha", 1e30F}}}), std::vector<int64_t>{kMost});
  expect_rejected({"SliceGrad",
                   {draw({1}), known_ints({0}), known_ints({1})},
                   {{"input_shape", ints({std::numeric_limits<int64_t>::min()})}}},
                  "input_shape");
}

TEST(Hostile, Resize) {
  const OpInput region = known({4}, {0, 0, 1e30, 1e30});
  expect_rejected({"Resize",
                   {draw({4, 4}), region, known({2}, {1e-30, 1e-30})},
                   {{"antialias", int64_t{1}},
                    {"mode", text("linear")},
                    {"coordinate_transformation_mode", text("tf_crop_and_resize")}}},
                  "antialias");
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    expect_rejected({"Resize",
                     {draw({1, 1, 0, 2}), absent(), absent(), known_ints({1, 1, 3, 3})},
                     {{"mode", text(mode)}}},
                    "an empty input");
  }
  // Its gradient asks for the same.
  expect_rejected({"ResizeGrad",
                   {draw({4}), absent(), known({0}, {}), absent(), draw({4})},
                   {{"mode", text("nearest")}}},
                  "found neither");
  expect_rejected({"ResizeGrad",
                   {draw({4}), absent(), known({1}, {1}), absent(), draw({4})},
                   {{"mode", text("TFIDF")}}},
                  "is not one of");
}

}  // namespace
}  // namespace trainyard::testing
