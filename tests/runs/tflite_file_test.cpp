#include "runs/weights/tflite_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/error_message.h"
#include "support/flat_bytes.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

namespace fb = flat_bytes;

constexpr int8_t kFloats = 0;
constexpr int8_t kInts = 2;
constexpr int8_t kBytes = 3;
constexpr int8_t kSignedBytes = 9;

struct Constant {
  std::vector<int32_t> shape;
  int8_t type;
  std::string data;
  std::vector<float> scales = {};
  std::vector<int64_t> zeros = {};
  int32_t axis = 0;
};

// One operator of this code on an input and these constants.
std::string network(int8_t code, const std::vector<Constant>& constants, uint32_t version = 3) {
  std::vector<fb::Table> tensors = {
      {{{0, fb::numbers<int32_t>({1, 4, 4, 2})}, {2, fb::number<uint32_t>(0)}}}};
  std::vector<fb::Table> buffers = {{}};
  std::vector<int32_t> inputs = {0};
  for (const Constant& constant : constants) {
    fb::Table tensor{{{0, fb::numbers(constant.shape)},
                      {1, fb::number(constant.type)},
                      {2, fb::number(static_cast<uint32_t>(buffers.size()))},
                      {3, fb::text("a name")}}};
    if (!constant.scales.empty()) {
      tensor.single[4] = {{{{2, fb::numbers(constant.scales)},
                            {3, fb::numbers(constant.zeros)},
                            {6, fb::number(constant.axis)}}}};
    }
    inputs.push_back(static_cast<int32_t>(tensors.size()));
    tensors.push_back(tensor);
    buffers.push_back({{{0, fb::text(constant.data)}}});
  }
  const fb::Table op{{{0, fb::number<uint32_t>(0)}, {1, fb::numbers(inputs)}}};
  const fb::Table graph{{{0, tensors}, {3, std::vector<fb::Table>{op}}}};
  const fb::Table kind{{{0, fb::number(code)}}};
  const fb::Table model{{{0, fb::number(version)},
                         {1, std::vector<fb::Table>{kind}},
                         {2, std::vector<fb::Table>{graph}},
                         {4, buffers}}};
  return fb::Writer().file(model, "TFL3");
}

constexpr int8_t kConv = 3;
constexpr int8_t kDepthwise = 4;
constexpr int8_t kLinear = 9;

class Tflite : public ::testing::Test {
 protected:
  std::unique_ptr<WeightsFile> open(const std::string& bytes) const {
    // Not write_file(): these are many, and none needs to survive a power cut.
    std::ofstream(folder_ / "n.tflite", std::ios::binary) << bytes;
    return open_weights(folder_ / "n.tflite");
  }
  std::string problem(const std::string& bytes) const {
    return message_of([&] {
      const auto file = open(bytes);
      for (size_t i = 0; i < file->tensors().size(); ++i) file->tensor(i);
    });
  }
  std::vector<float> values(const std::string& bytes, size_t tensor) const {
    const Tensor read = open(bytes)->tensor(tensor);
    const auto all = read.values<float>();
    return {all.begin(), all.end()};
  }

  TemporaryFolder folder_{"tflite_file_test"};
};

TEST_F(Tflite, ConvolutionsTurnTheirAxes) {
  // Two outputs of 1 x 2 windows over two channels: out, height, width, in.
  const std::string bytes =
      network(kConv, {{{2, 1, 2, 2}, kFloats, fb::numbers<float>({0, 1, 2, 3, 4, 5, 6, 7}).bytes},
                      {{2}, kFloats, fb::numbers<float>({8, 9}).bytes}});
  const auto file = open(bytes);
  EXPECT_EQ(file->format(), "TensorFlow Lite");
  EXPECT_TRUE(file->is_ordered());
  ASSERT_EQ(file->tensors().size(), 2U);
  EXPECT_EQ(file->tensors()[0].name, "layer00.weight");
  EXPECT_EQ(file->tensors()[0].type.shape, (Shape{2, 2, 1, 2}));
  EXPECT_EQ(values(bytes, 0), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(values(bytes, 1), (std::vector<float>{8, 9}));
}

TEST_F(Tflite, QuantizedNumbersBecomeFloats) {
  const std::string whole =
      network(kDepthwise, {{{1, 1, 1, 2}, kBytes, "\x82\x7e", {0.5F}, {128}},
                           {{2}, kInts, fb::numbers<int32_t>({4, -4}).bytes, {0.25F}, {0}}});
  EXPECT_EQ(open(whole)->tensors()[0].type.shape, (Shape{2, 1, 1, 1}));
  EXPECT_EQ(values(whole, 0), (std::vector<float>{1, -1}));
  EXPECT_EQ(values(whole, 1), (std::vector<float>{1, -1}));
  const std::string channels =
      network(kDepthwise, {{{1, 1, 2, 2}, kSignedBytes, "\x01\x01\x02\xfe", {0.5F, 4}, {0, 0}, 3}});
  EXPECT_EQ(values(channels, 0), (std::vector<float>{0.5F, 1, 4, -8}));
  const std::string linear = network(kLinear, {{{2, 1}, kSignedBytes, "\x01\x02", {2}, {0}}});
  EXPECT_EQ(values(linear, 0), (std::vector<float>{2, 4}));
}

TEST_F(Tflite, WhatDoesNotFitIsRefused) {
  const auto says = [&](const std::string& bytes, std::string_view words) {
    const std::string message = problem(bytes);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says(network(kConv, {}), "a convolution without weights");
  says(network(kConv, {{{2, 1, 2, 2}, kFloats, "1234"}}), "expected constant weights");
  says(network(kConv, {{{1 << 30, 1 << 30, 1 << 30, 1}, kFloats, "1234"}}), "");
  says(network(kConv, {{{-1, 1, 1, 1}, kFloats, ""}}), "a dimension of -1");
  says(network(kConv, {{{1, 1, 1, 1}, 7, "1"}}), "elements of type 7");
  says(network(kConv, {{{1, 1, 1, 1}, kBytes, "1"}}), "without a scale");
  says(network(kConv, {{{1, 1, 1, 2}, kBytes, "12", {1, 1}, {0, 0}, 0}}), "one for each channel");
  says(network(kConv, {{{1, 1, 1, 2}, kBytes, "12", {1, 1}, {0, 0}, 9}}), "one for each channel");
  says(network(kLinear, {{{1, 1, 1, 1}, kFloats, "1234"}}), "are 1x1x1x1");
  says(network(32, {{{1}, kFloats, "1234"}}), "no convolutions");
  says(network(kConv, {}, /*version=*/2), "schema 2");
}

TEST_F(Tflite, DamagedFilesAreReadOrRefused) {
  const std::string whole =
      network(kConv, {{{1, 1, 1, 2}, kSignedBytes, "\x01\x02", {1}, {0}},
                      {{1}, kInts, fb::numbers<int32_t>({1}).bytes, {1}, {0}}});
  EXPECT_EQ(problem(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size) problem(whole.substr(0, size));
  const RandomStream random(1);
  for (uint64_t i = 0; i < 200; ++i) {
    std::string flipped = whole;
    const uint64_t bits = random.bits(i);
    flipped[bits % flipped.size()] = static_cast<char>(bits >> 32U);
    problem(flipped);
  }
}

}  // namespace
}  // namespace trainyard::runs
