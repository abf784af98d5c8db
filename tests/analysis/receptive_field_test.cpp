#include "analysis/receptive_field.h"

#include <gtest/gtest.h>

#include "analysis/networks.h"
#include "base/error.h"

namespace trainyard::analysis {
namespace {

struct Net {
  Graph graph;
  ops::Builder b{graph};
  ValueId x = b.input("x", {DType::kF32, {1, 2, 64, 64}});

  LayerField field(std::string_view name) const {
    for (const LayerField& layer : analyze_receptive_fields(graph).layers) {
      if (layer.name == name) return layer;
    }
    ADD_FAILURE() << "no layer " << name;
    return {};
  }
};

void expect_extent(const LayerField& layer, double first, double last, double jump) {
  ASSERT_EQ(layer.extents.size(), 2U) << layer.name;
  for (const Extent& extent : layer.extents) {
    EXPECT_EQ(extent.first, first) << layer.name;
    EXPECT_EQ(extent.last, last) << layer.name;
    EXPECT_EQ(extent.jump, jump) << layer.name;
  }
}

TEST(ReceptiveField, FollowsAChain) {
  Net net;
  ValueId x = conv(net.b, net.x, 2, 7, 2, 3, "conv1");
  x = max_pool(net.b, x, 3, 2, 1, "pool");
  x = net.b.add("Relu", {x}, {}, "relu");
  conv(net.b, x, 2, 3, 1, 1, "conv2");
  expect_extent(net.field("x"), 0, 0, 1);
  expect_extent(net.field("conv1"), -3, 3, 2);
  expect_extent(net.field("pool"), -5, 5, 4);
  expect_extent(net.field("relu"), -5, 5, 4);
  expect_extent(net.field("conv2"), -9, 9, 4);
  EXPECT_EQ(net.field("conv2").extents[0].size(), 19);
  EXPECT_EQ(net.field("conv2").extents[0].center(), 0);
}

TEST(ReceptiveField, TakesTheLargestPathOfAResidual) {
  Net net;
  const ValueId x = conv(net.b, net.x, 2, 3, 2, 1, "stem");
  ValueId y = conv(net.b, x, 2, 3, 2, 1, "a");
  y = conv(net.b, y, 2, 3, 1, 1, "b");
  const ValueId shortcut = conv(net.b, x, 2, 1, 2, 0, "shortcut");
  net.b.add("Add", {shortcut, y}, {}, "sum");
  expect_extent(net.field("shortcut"), -1, 1, 4);
  expect_extent(net.field("b"), -7, 7, 4);
  expect_extent(net.field("sum"), -7, 7, 4);
}

TEST(ReceptiveField, SpansBranchesThatLookToDifferentSides) {
  Net net;
  const auto one_sided = [&](std::vector<int64_t> pads, const std::string& name) {
    const ValueId w = net.b.parameter(name + ".w", {2, 2, 3, 3}, init_constant(1));
    return net.b.add("Conv", {net.x, w}, {{"pads", std::move(pads)}}, name);
  };
  const ValueId left = one_sided({2, 2, 0, 0}, "left");
  const ValueId right = one_sided({0, 0, 2, 2}, "right");
  net.b.add("Concat", {left, right}, {{"axis", int64_t{1}}}, "both");
  expect_extent(net.field("left"), -2, 0, 1);
  expect_extent(net.field("right"), 0, 2, 1);
  expect_extent(net.field("both"), -2, 2, 1);
}

TEST(ReceptiveField, DilationReachesFurther) {
  Net net;
  const ValueId w = net.b.parameter("w", {2, 2, 3, 3}, init_constant(1));
  net.b.add("Conv", {net.x, w}, {{"dilations", std::vector<int64_t>{4, 4}}}, "conv");
  expect_extent(net.field("conv"), 0, 8, 1);
}

TEST(ReceptiveField, TransposedConvolutionStepsByFractions) {
  Net net;
  const ValueId x = conv(net.b, net.x, 2, 3, 2, 1, "conv");
  const ValueId w = net.b.parameter("w", {2, 2, 2, 2}, init_constant(1));
  const ValueId up =
      net.b.add("ConvTranspose", {x, w}, {{"strides", std::vector<int64_t>{2, 2}}}, "up");
  conv(net.b, up, 2, 3, 1, 1, "after");
  // Outputs 0 and 1 both come from input 0, so the middle of output 0 is a quarter step before it.
  expect_extent(net.field("up"), -1.5, 0.5, 1);
  EXPECT_EQ(net.field("up").extents[0].size(), 3);
  EXPECT_EQ(net.field("after").extents[0].size(), 5);
}

TEST(ReceptiveField, ResizingStepsByFractions) {
  Net net;
  const ValueId x = conv(net.b, net.x, 2, 3, 2, 1, "conv");
  const float twice[] = {1, 1, 2, 2};
  const ValueId scales = net.b.constant("scales", Tensor::of<float>(Shape{4}, twice));
  const auto resize = [&](const char* mode) {
    net.b.add("Resize", {x, kNoValue, scales}, {{"mode", std::string(mode)}}, mode);
    return net.field(mode).extents[0];
  };
  EXPECT_EQ(resize("nearest").size(), 3);
  EXPECT_EQ(resize("linear").size(), 3 + 2);
  EXPECT_EQ(resize("cubic").size(), 3 + 6);
  EXPECT_EQ(resize("linear").jump, 1);
  EXPECT_EQ(resize("linear").center(), -0.5);
}

TEST(ReceptiveField, ConstantsBeforeTheInputDoNotCount) {
  Net net;
  net.b.add("Sub", {net.b.constant_scalar("one", 1), net.x}, {}, "negative");
  expect_extent(net.field("negative"), 0, 0, 1);
}

TEST(ReceptiveField, NormalizationOverTheImageSeesTheWholeInput) {
  Net net;
  const ValueId c = net.b.parameter("c", {2}, init_constant(1));
  net.b.add("InstanceNormalization", {net.x, c, c}, {}, "instance");
  norm(net.b, net.x, "batch");
  EXPECT_TRUE(net.field("instance").whole_input());
  expect_extent(net.field("batch"), 0, 0, 1);
}

TEST(ReceptiveField, PadAndSliceShiftPositions) {
  Net net;
  const int64_t pads[] = {0, 0, 3, 3, 0, 0, 1, 1};
  const ValueId x = net.b.add("Pad", {net.x, net.b.constant_ints("pads", pads)}, {}, "pad");
  expect_extent(net.field("pad"), -3, -3, 1);
  const int64_t starts[] = {5, 5};
  const int64_t ends[] = {60, 60};
  const int64_t axes[] = {2, 3};
  const int64_t steps[] = {2, 2};
  net.b.add("Slice",
            {x, net.b.constant_ints("starts", starts), net.b.constant_ints("ends", ends),
             net.b.constant_ints("axes", axes), net.b.constant_ints("steps", steps)},
            {}, "slice");
  expect_extent(net.field("slice"), 2, 2, 2);
}

TEST(ReceptiveField, ChannelShuffleKeepsPositions) {
  Net net;
  const int64_t split[] = {1, 2, 1, 64, 64};
  ValueId x = net.b.add("Reshape", {net.x, net.b.constant_ints("split", split)});
  x = net.b.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
  const int64_t join[] = {1, 2, 64, 64};
  x = net.b.add("Reshape", {x, net.b.constant_ints("join", join)}, {}, "shuffled");
  conv(net.b, x, 2, 3, 1, 1, "conv");
  expect_extent(net.field("shuffled"), 0, 0, 1);
  expect_extent(net.field("conv"), -1, 1, 1);
}

TEST(ReceptiveField, GlobalPoolingSeesTheWholeInput) {
  Net net;
  const ValueId x = conv(net.b, net.x, 2, 3, 1, 1, "conv");
  const ValueId pooled = net.b.add("GlobalAveragePool", {x}, {}, "pool");
  // Squeeze and excitation: every position is scaled by what the whole picture says.
  net.b.add("Mul", {x, net.b.add("Sigmoid", {pooled})}, {}, "scaled");
  EXPECT_TRUE(net.field("pool").whole_input());
  EXPECT_TRUE(net.field("scaled").whole_input());
  EXPECT_FALSE(net.field("conv").whole_input());
}

TEST(ReceptiveField, LinearLayersSeeTheWholeInput) {
  Graph graph = small_net(1);
  const std::vector<LayerField> fields = analyze_receptive_fields(graph).layers;
  EXPECT_FALSE(fields[3].whole_input());  // pool
  EXPECT_TRUE(fields[4].whole_input());   // flatten
  EXPECT_TRUE(fields[5].whole_input());   // fc
}

TEST(ReceptiveField, SoftmaxOverChannelsIsPositionByPosition) {
  Net net;
  net.b.add("Softmax", {net.x}, {{"axis", int64_t{1}}}, "channels");
  net.b.add("Softmax", {net.x}, {{"axis", int64_t{-1}}}, "columns");
  expect_extent(net.field("channels"), 0, 0, 1);
  EXPECT_TRUE(net.field("columns").whole_input());
}

TEST(ReceptiveField, ConstantsSeeNothing) {
  Net net;
  net.b.add("Neg", {net.b.parameter("w", {1, 2, 64, 64}, init_constant(1))}, {}, "constant");
  EXPECT_FALSE(net.field("constant").sees_input);
}

TEST(ReceptiveFieldStack, EqualsOneFilter) {
  const int64_t fives[] = {5, 5, 5};
  EXPECT_EQ(receptive_field(fives, {}), 13);
  for (int64_t n = 1; n < 6; ++n) {
    for (int64_t f = 1; f < 9; ++f) {
      EXPECT_EQ(receptive_field(std::vector<int64_t>(static_cast<size_t>(n), f), {}),
                n * f - n + 1);
    }
  }
}

TEST(ReceptiveFieldStack, StridesWidenTheStepsOfLaterLayers) {
  const int64_t kernels[] = {5, 5, 5};
  const int64_t strides[] = {1, 2, 1};
  const std::vector<StackField> layers = stack_fields(kernels, strides);
  EXPECT_EQ(layers[1].size, 9);
  EXPECT_EQ(layers[1].jump, 2);
  EXPECT_EQ(layers[2].size, 17);
}

TEST(ReceptiveFieldStack, RejectsWhatIsNoStack) {
  const int64_t kernels[] = {5, 5};
  const int64_t one[] = {1};
  const int64_t zero[] = {1, 0};
  const int64_t huge[] = {int64_t{1} << 62, int64_t{1} << 62, int64_t{1} << 62};
  EXPECT_THROW(stack_fields({}, {}), Error);
  EXPECT_THROW(stack_fields(kernels, one), Error);
  EXPECT_THROW(stack_fields(kernels, zero), Error);
  EXPECT_THROW(stack_fields(zero, {}), Error);
  EXPECT_THROW(stack_fields(huge, {}), Error);
}

}  // namespace
}  // namespace trainyard::analysis
