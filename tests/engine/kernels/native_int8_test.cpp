// Quantized kernels against the reference, bit for bit, on every kind of processor that this one
// can be.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/kernels/kernel_table.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_conv.h"
#include "engine/kernels/native/int8/step_order.h"
#include "engine/kernels/reference/quantize/saturation.h"
#include "support/op_case.h"

namespace trainyard::kernels::native {
namespace {

using testing::OpCase;
using testing::OpInput;

constexpr DType kBytes = DType::kU8;

std::vector<double> drawn(uint64_t stream, int64_t count, int64_t low, int64_t high) {
  const RandomStream random(/*seed=*/11, stream);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto width = static_cast<uint64_t>(high - low + 1);
    values.push_back(static_cast<double>(low) +
                     static_cast<double>(random.below(static_cast<uint64_t>(i), width)));
  }
  return values;
}

struct ByteConvCase {
  ByteConvShape shape;
  int64_t largest_weight = 64;  // 64: seven bits
  bool adds = false;
  bool reals = false;
  bool blocks = false;  // of channels, in reals
};

ByteConvShape conv_shape(int64_t channels, int64_t out, int64_t size, int64_t window,
                         int64_t stride, int64_t pad, int64_t groups = 1) {
  ByteConvShape shape;
  shape.batch = 2;
  shape.in_channels = channels;
  shape.out_channels = out;
  shape.groups = groups;
  shape.height = size;
  shape.width = size + 1;
  shape.window_rows = shape.window_columns = window;
  shape.row_stride = shape.column_stride = stride;
  shape.pad_top = shape.pad_left = pad;
  shape.out_height = (shape.height + 2 * pad - window) / stride + 1;
  shape.out_width = (shape.width + 2 * pad - window) / stride + 1;
  return shape;
}

// Shapes that leave something over in every direction: channels, vectors, tiles, taps, groups.
std::vector<ByteConvCase> conv_cases() {
  std::vector<ByteConvCase> cases = {
      {conv_shape(64, 64, 9, 3, 1, 1)},     {conv_shape(24, 80, 7, 1, 1, 0)},
      {conv_shape(3, 20, 15, 7, 2, 3)},     {conv_shape(5, 7, 6, 3, 2, 0)},
      {conv_shape(18, 130, 5, 1, 1, 0)},    {conv_shape(12, 24, 6, 3, 1, 1, 4)},
      {conv_shape(1, 33, 8, 5, 1, 2)},      {conv_shape(40, 16, 3, 3, 1, 2)},
      {conv_shape(70, 70, 9, 3, 1, 1, 70)}, {conv_shape(64, 64, 70, 3, 2, 1, 64)},
      {conv_shape(20, 20, 8, 5, 1, 2, 20)}, {conv_shape(16, 16, 5, 8, 1, 4, 16)},
      {conv_shape(9, 18, 6, 3, 1, 1, 9)},
  };
  // Depthwise: blocks of 64, 32 and 16 channels, an odd number of rows, rows of several segments.
  for (const int64_t channels : {32, 40, 96, 112}) {
    cases.push_back({conv_shape(channels, channels, 7, 3, 1, 1, channels)});
    cases.push_back({conv_shape(channels, channels, 8, 3, 2, 1, channels)});
  }
  cases.push_back({conv_shape(48, 48, 70, 3, 1, 0, 48)});
  cases.push_back({conv_shape(32, 40, 6, 1, 1, 0), /*largest_weight=*/127});
  cases.push_back({conv_shape(33, 40, 6, 3, 1, 1), /*largest_weight=*/127});
  cases.push_back({conv_shape(3, 8, 12, 3, 2, 1), /*largest_weight=*/127});
  cases.push_back({conv_shape(48, 48, 6, 3, 1, 1, 48), /*largest_weight=*/127});
  cases.push_back({conv_shape(32, 50, 6, 1, 1, 0), 64, /*adds=*/true});
  cases.push_back({conv_shape(16, 70, 6, 3, 1, 1), 127, /*adds=*/true});
  cases.push_back({conv_shape(32, 50, 6, 1, 1, 0), 64, false, /*reals=*/true});
  for (const int64_t out : {50, 64}) {  // half of the last vector of 16 does not exist, or it does
    cases.push_back({conv_shape(32, out, 6, 3, 1, 1), 64, false, /*reals=*/true, /*blocks=*/true});
    cases.back().shape.batch = 1;
  }
  return cases;
}

constexpr int64_t kXZero = 113;

OpCase as_op_case(const ByteConvCase& c) {
  const ByteConvShape& s = c.shape;
  const Shape w{s.out_channels, s.in_channels / s.groups, s.window_rows, s.window_columns};
  const int64_t depth = w.num_elements(1, 4);
  std::vector<double> multiplier;
  for (int64_t i = 0; i < s.out_channels; ++i) {
    const double spread = 0.3 + 0.1 * static_cast<double>(i % 7);
    multiplier.push_back(0.9 / (static_cast<double>(depth * c.largest_weight) * spread));
  }
  const auto int8 = [](const Shape& shape, std::vector<double> values, DType dtype) {
    return testing::known(shape, std::move(values), dtype);
  };
  OpCase op;
  op.op = "QuantizedConv";
  op.inputs = {
      testing::given({s.batch, s.in_channels, s.height, s.width},
                     drawn(1, s.batch * s.in_channels * s.height * s.width, 0, 255), kBytes),
      int8(w, drawn(2, w.num_elements(), -c.largest_weight, c.largest_weight), DType::kI8),
      int8({s.out_channels}, drawn(3, s.out_channels, -9000, 9000), DType::kI32),
      testing::known({s.out_channels}, multiplier)};
  op.attributes = {{"group", s.groups},
                   {"pads", testing::ints({s.pad_top, s.pad_left, s.pad_top, s.pad_left})},
                   {"strides", testing::ints({s.row_stride, s.column_stride})},
                   {"x_zero", kXZero}};
  if (!c.reals) {
    op.attributes["y_zero"] = int64_t{100};
    op.attributes["low"] = int64_t{90};
    op.attributes["high"] = int64_t{250};
  }
  if (c.adds) {
    const Shape y{s.batch, s.out_channels, s.out_height, s.out_width};
    op.inputs.push_back(testing::given(y, drawn(4, y.num_elements(), 0, 255), kBytes));
    op.attributes["own_ratio"] = 0.7F;
    op.attributes["sum_ratio"] = 0.4F;
    op.attributes["sum_zero"] = int64_t{30};
    op.attributes["out_zero"] = int64_t{20};
    op.attributes["out_low"] = int64_t{20};
  }
  return op;
}

template <typename T>
std::vector<T> as(const std::vector<double>& values) {
  std::vector<T> result;
  for (const double value : values) result.push_back(static_cast<T>(value));
  return result;
}

std::vector<uint8_t> channels_last_of(const std::vector<double>& values, int64_t batch,
                                      int64_t channels, int64_t pixels) {
  std::vector<uint8_t> result(values.size());
  for (int64_t i = 0; i < batch * channels * pixels; ++i) {
    const int64_t n = i / (channels * pixels);
    const int64_t c = i / pixels % channels;
    result[static_cast<size_t>((n * pixels + i % pixels) * channels + c)] =
        static_cast<uint8_t>(values[static_cast<size_t>(i)]);
  }
  return result;
}

// Runs the case on `kernels`; the result is row-major again. Reals lie in blocks of so many
// channels, which are written whole and nothing behind them; 1: channels last.
std::vector<double> run_on(const ByteKernels& kernels, const ByteConvCase& c, const OpCase& op,
                           int64_t block) {
  const ByteConvShape& s = c.shape;
  const auto weights = as<int8_t>(op.inputs[1].values);
  const auto bias = as<int32_t>(op.inputs[2].values);
  const auto multiplier = as<float>(op.inputs[3].values);
  const ByteConvNumbers numbers{weights.data(), bias.data(), multiplier.data(), kXZero};
  Finish finish{.zero = 100, .low = 90, .high = 250};
  const int64_t out_pixels = s.out_height * s.out_width;
  std::vector<uint8_t> added;
  if (c.adds) {
    finish.adds = true;
    finish.own_ratio = 0.7F;
    finish.sum_ratio = 0.4F;
    finish.sum_zero = 30;
    finish.out_zero = finish.out_low = 20;
    added = channels_last_of(op.inputs[4].values, s.batch, s.out_channels, out_pixels);
  }
  const auto x = channels_last_of(op.inputs[0].values, s.batch, s.in_channels, s.height * s.width);
  std::vector<uint8_t> y(static_cast<size_t>(s.pixels() * s.out_channels));
  const int64_t padded = (s.out_channels + block - 1) / block * block;
  constexpr float kUntouched = 77;
  std::vector<float> reals(static_cast<size_t>(s.pixels() * padded + block), kUntouched);
  if (ByteDepthwise::takes(s)) {
    ByteDepthwise(s, numbers, finish, kernels).run(x.data(), y.data());
  } else {
    const ByteConv conv(s, numbers, finish, kernels);
    EXPECT_EQ(conv.is_wide(), !kernels.exact_pairs && c.largest_weight > 64);
    std::vector<uint8_t> scratch(static_cast<size_t>(conv.scratch_bytes()));
    conv.run({.x = x.data(),
              .added = added.data(),
              .y = c.reals ? nullptr : y.data(),
              .reals = c.reals ? reals.data() : nullptr,
              .real_block = block,
              .scratch = scratch.data()});
  }
  std::vector<double> result(y.size());
  for (int64_t i = 0; i < s.pixels() * s.out_channels; ++i) {
    const int64_t pixel = i / s.out_channels;
    const int64_t at = (pixel / out_pixels * s.out_channels + i % s.out_channels) * out_pixels +
                       pixel % out_pixels;
    const int64_t channel = i % s.out_channels;
    const int64_t from =
        block == 1 ? i : (channel / block * s.pixels() + pixel) * block + channel % block;
    result[static_cast<size_t>(at)] =
        static_cast<double>(c.reals ? reals[static_cast<size_t>(from)]
                                    : static_cast<float>(y[static_cast<size_t>(from)]));
  }
  EXPECT_TRUE(
      std::all_of(reals.end() - block, reals.end(), [](float real) { return real == kUntouched; }));
  return result;
}

void expect_exact(const ByteKernels& kernels) {
  for (const ByteConvCase& c : conv_cases()) {
    const OpCase op = as_op_case(c);
    const Tensor expected = std::move(testing::run_reference(op)[0]);
    for (const int64_t block : {1, 8, 16}) {
      const bool taken =
          block == 1 ? !c.blocks : c.blocks && ByteConv::writes_blocks(c.shape, block, kernels);
      if (!taken) continue;
      const std::vector<double> found = run_on(kernels, c, op, block);
      for (int64_t i = 0; i < expected.num_elements(); ++i) {
        ASSERT_EQ(found[static_cast<size_t>(i)], element_as_double(expected, i))
            << kernels.name << ", element " << i << " of " << op;
      }
    }
  }
}

TEST(Int8, Avx2EqualsTheReference) {
  if (!cpu_has_avx2_fma()) GTEST_SKIP() << "no AVX2 here";
  expect_exact(avx2_byte_kernels());
}

TEST(Int8, VnniEqualsTheReference) {
  if (!cpu_has_avx512_vnni()) GTEST_SKIP() << "no AVX-512 with VNNI here";
  expect_exact(vnni_byte_kernels());
}

// The processor's own product of bytes adds pairs in 16 bits. Weights of seven bits never get
// there; those of eight do, and then weights are widened (is_wide() above), so nothing saturates.
TEST(Int8, ProductsDoNotSaturate) {
  for (const ByteConvCase& c : conv_cases()) {
    reference::saturations() = {};
    testing::run_reference(as_op_case(c));
    EXPECT_EQ(reference::saturations().sums, 0);
    EXPECT_TRUE(c.largest_weight > 64 || reference::saturations().pairs == 0);
  }
  reference::saturations() = {};
  testing::run_reference(as_op_case({conv_shape(32, 40, 6, 1, 1, 0), /*largest_weight=*/127}));
  EXPECT_GT(reference::saturations().pairs, 0);
}

// Steps that are added in 16 bits together cannot overflow them, and every step is there once.
TEST(Int8, StepsAreAddedByTwosOnlyWhereTheyFit) {
  constexpr int64_t kChannels = 5;
  constexpr int64_t kSteps = 40;
  TapWeights tap;
  tap.channels = kChannels;
  tap.steps = kSteps;
  tap.weights = as<int8_t>(drawn(7, kChannels * kSteps * kDepthStep, -64, 64));
  std::fill_n(tap.weights.begin(), 2 * kDepthStep, int8_t{64});  // not these two together
  const StepOrder order = order_steps(tap, kSteps);
  std::vector<int32_t> seen = order.singles;
  seen.insert(seen.end(), order.pairs.begin(), order.pairs.end());
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), kSteps);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int32_t>(i));
  EXPECT_GT(order.pairs.size(), order.singles.size());
  for (size_t i = 0; i < order.pairs.size(); i += 2) {
    for (int64_t at = 0; at < kChannels * kDepthStep; at += 2) {
      int above = 0;
      int below = 0;
      for (const int32_t step : {order.pairs[i], order.pairs[i + 1]}) {
        const int64_t first = (at / kDepthStep * kSteps + step) * kDepthStep + at % kDepthStep;
        for (const int64_t k : {first, first + 1}) {
          const int product = 255 * tap.weights[static_cast<size_t>(k)];
          (product > 0 ? above : below) += product;
        }
      }
      EXPECT_LE(above, 32767);
      EXPECT_GE(below, -32768);
    }
  }
  // Large weights in all places: nothing can be added by twos.
  std::fill(tap.weights.begin(), tap.weights.end(), int8_t{-64});
  EXPECT_TRUE(order_steps(tap, kSteps).pairs.empty());
}

// Through layouts as the compiler runs them: elementwise kernels and borders, with something over.
TEST(Int8, ElementwiseKernelsEqualTheReference) {
  const Shape image{2, 35, 5, 3};
  const int64_t count = image.num_elements();
  const OpInput a = testing::given(image, drawn(5, count, 0, 255), kBytes);
  const OpInput b = testing::given(image, drawn(6, count, 0, 255), kBytes);
  testing::check_case({.op = "QuantizedAdd",
                       .inputs = {a, b},
                       .attributes = {{"a_ratio", 0.37F},
                                      {"a_zero", int64_t{9}},
                                      {"b_ratio", 0.91F},
                                      {"b_zero", int64_t{77}},
                                      {"low", int64_t{40}},
                                      {"y_zero", int64_t{40}}}});
  for (const int64_t axis : {1, 2, -1}) {
    testing::check_case({.op = "QuantizedConcat",
                         .inputs = {a, b},
                         .attributes = {{"axis", axis},
                                        {"ratios", std::vector<float>{1.0F, 0.83F}},
                                        {"y_zero", int64_t{4}},
                                        {"zeros", testing::ints({4, 9})}}});
  }
  for (const int64_t counts : {0, 1}) {
    testing::check_case({.op = "QuantizedAveragePool",
                         .inputs = {a},
                         .attributes = {{"count_include_pad", counts},
                                        {"kernel_shape", testing::ints({3, 2})},
                                        {"pads", testing::ints({1, 1, 1, 0})},
                                        {"ratio", 1.3F},
                                        {"strides", testing::ints({2, 1})},
                                        {"x_zero", int64_t{90}},
                                        {"y_zero", int64_t{100}}}});
  }
  testing::check_case({.op = "MaxPool",
                       .inputs = {a},
                       .attributes = {{"kernel_shape", testing::ints({3, 3})},
                                      {"pads", testing::ints({1, 1, 1, 1})},
                                      {"strides", testing::ints({2, 2})}}});
  testing::check_case({.op = "GlobalMaxPool", .inputs = {a}});
  const OpCase larger{.op = "Resize",
                      .inputs = {a, testing::absent(), testing::known({4}, {1, 1, 2, 3})}};
  EXPECT_TRUE(testing::is_fast(larger));
  testing::check_case(larger);
}

// Where floats become bytes and back: colors, blocks of channels that are whole and others.
TEST(Int8, BordersEqualTheReference) {
  const OpInput scale = testing::known({}, {0.013});
  for (const Shape& image : {Shape{2, 35, 5, 3}, Shape{2, 3, 7, 5}, Shape{1, 32, 3, 7}}) {
    const OpInput bytes = testing::given(image, drawn(5, image.num_elements(), 0, 255), kBytes);
    testing::check_case(
        {.op = "DequantizeLinear", .inputs = {bytes, scale, testing::known({}, {31}, kBytes)}});
    testing::check_case(
        {.op = "QuantizeLinear",
         .inputs = {testing::draw(image), scale, testing::known({}, {131}, kBytes)}});
  }
}

}  // namespace
}  // namespace trainyard::kernels::native
