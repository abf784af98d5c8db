// ShuffleNet v2 as torchvision has it: half of the channels pass, half are transformed, then the
// halves are interleaved.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// The paper's table 5: channels of the three stages and of the last convolution.
struct Width {
  double multiplier;
  std::array<int64_t, 3> stages;
  int64_t last;
};

constexpr std::array<Width, 4> kWidths = {{{0.5, {48, 96, 192}, 1024},
                                           {1.0, {116, 232, 464}, 1024},
                                           {1.5, {176, 352, 704}, 1024},
                                           {2.0, {244, 488, 976}, 2048}}};
constexpr std::array<int64_t, 3> kShufflenetV2Depths = {4, 8, 4};

const Width& width_of(double multiplier) {
  const auto found = std::find_if(kWidths.begin(), kWidths.end(), [multiplier](const Width& width) {
    return width.multiplier == multiplier;
  });
  TY_REQUIRE(found != kWidths.end(), "shufflenet_v2: width {} is not one of 0.5, 1, 1.5, 2",
             multiplier);
  return *found;
}

ConvSpec depthwise(int64_t channels, int64_t stride) {
  return {.out = channels, .kernel = 3, .stride = stride, .pad = 1, .group = channels};
}

// Convolution and normalization at positions `index` and `index + 1` of a sequence.
ValueId unit_shufflenet_v2(Net& net, ValueId x, const std::string& name, int index,
                           const ConvSpec& spec) {
  return net.conv_norm(x, name + "." + std::to_string(index),
                       name + "." + std::to_string(index + 1), spec);
}

ValueId main_branch(Net& net, ValueId x, const std::string& name, int64_t out, int64_t stride) {
  x = net.relu(unit_shufflenet_v2(net, x, name, 0, {.out = out}), name + ".2");
  x = unit_shufflenet_v2(net, x, name, 3, depthwise(out, stride));
  return net.relu(unit_shufflenet_v2(net, x, name, 5, {.out = out}), name + ".7");
}

ValueId shuffle(Net& net, ValueId x, const std::string& name, int64_t size) {
  const int64_t channels = net.channels(x);
  x = net.reshape(x, name + ".split", {0, 2, channels / 2, size, size});
  x = net.transpose(x, name + ".interleave", {0, 2, 1, 3, 4});
  return net.reshape(x, name + ".merge", {0, channels, size, size});
}

// The first block of a stage: both branches see everything and halve the map.
ValueId halving_block(Net& net, ValueId x, const std::string& name, int64_t half) {
  const std::string side = name + ".branch1";
  ValueId y = unit_shufflenet_v2(net, x, side, 0, depthwise(net.channels(x), 2));
  y = net.relu(unit_shufflenet_v2(net, y, side, 2, {.out = half}), side + ".4");
  return net.concat({y, main_branch(net, x, name + ".branch2", half, 2)}, name + ".concat");
}

ValueId plain_block(Net& net, ValueId x, const std::string& name, int64_t half) {
  const ValueId kept = net.slice(x, name + ".kept", {{.axis = 1, .begin = 0, .end = half}});
  const ValueId sent = net.slice(x, name + ".sent", {{.axis = 1, .begin = half, .end = 2 * half}});
  return net.concat({kept, main_branch(net, sent, name + ".branch2", half, 1)}, name + ".concat");
}

Graph build_shufflenet_v2(const ModelOptions& options) {
  const Width& width = width_of(options.width);
  Net net("shufflenet_v2");
  ValueId x = net.image(options);
  x = unit_shufflenet_v2(net, x, "conv1", 0, {.out = 24, .kernel = 3, .stride = 2, .pad = 1});
  x = net.max_pool(net.relu(x, "conv1.2"), "maxpool", {.kernel = 3, .stride = 2, .pad = 1});
  const auto halved = [](int64_t size) { return (size + 1) / 2; };
  int64_t size = halved(halved(options.image));
  for (size_t stage = 0; stage < kShufflenetV2Depths.size(); ++stage) {
    const int64_t half = width.stages[stage] / 2;
    size = halved(size);
    for (int64_t i = 0; i < kShufflenetV2Depths[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage + 2) + "." + std::to_string(i);
      x = i == 0 ? halving_block(net, x, name, half) : plain_block(net, x, name, half);
      x = shuffle(net, x, name, size);
    }
  }
  x = net.relu(unit_shufflenet_v2(net, x, "conv5", 0, {.out = width.last}), "conv5.2");
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  return net.finish({{net.linear(x, "fc", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kShufflenetV2 = {
    .name = "shufflenet_v2",
    .summary = "ShuffleNet v2; width is one of 0.5, 1, 1.5, 2",
    .paper = {.authors = "Ma, Zhang, Zheng, Sun",
              .title = "ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture Design",
              .where = "ECCV 2018, arXiv:1807.11164"},
    .smallest_image = 32,
    .has_width = true,
    .build = build_shufflenet_v2};

}  // namespace trainyard::models
