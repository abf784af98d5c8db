// ConvNeXt tiny as torchvision has it (without its stochastic depth).
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

struct ConvnextStage {
  int64_t channels;
  int64_t blocks;
};

constexpr std::array<ConvnextStage, 4> kConvnextStages = {{{96, 3}, {192, 3}, {384, 9}, {768, 3}}};
constexpr int64_t kConvnextWidening = 4;
constexpr float kFirstScale = 1e-6F;

// Over the channels of each position.
ValueId norm_positions(Net& net, ValueId x, const std::string& name) {
  x = net.transpose(x, name + ".last", {0, 2, 3, 1});
  return net.transpose(net.layer_norm(x, name), name + ".first", {0, 3, 1, 2});
}

ValueId block_convnext(Net& net, ValueId x, const std::string& name) {
  const int64_t channels = net.channels(x);
  const int64_t height = net.extent(x, 2);
  const int64_t width = net.extent(x, 3);
  ValueId y =
      net.conv(x, name + ".block.0", {.out = channels, .kernel = 7, .pad = 3, .group = channels});
  y = net.transpose(y, name + ".block.1", {0, 2, 3, 1});
  y = net.reshape(net.layer_norm(y, name + ".block.2"), name + ".rows", {-1, channels});
  y = net.linear(y, name + ".block.3", kConvnextWidening * channels);
  y = net.linear(net.activate(y, "Gelu", name + ".block.4"), name + ".block.5", channels);
  y = net.reshape(y, name + ".positions", {-1, height, width, channels});
  y = net.layer_scale(net.transpose(y, name + ".block.6", {0, 3, 1, 2}), name + ".layer_scale",
                      kFirstScale);
  return net.add(x, y, name + ".add");
}

Graph build_convnext_tiny(const ModelOptions& options) {
  Net net("convnext_tiny", {.norm_epsilon = 1e-6F});
  ValueId x = net.image(options);
  int index = 0;
  for (const ConvnextStage& stage : kConvnextStages) {
    // A stem of patches of 4 x 4, halves between the stages.
    const std::string name = "features." + std::to_string(index++);
    const int64_t patch = index == 1 ? 4 : 2;
    const ConvSpec spec = {.out = stage.channels, .kernel = patch, .stride = patch};
    x = index == 1 ? norm_positions(net, net.conv(x, name + ".0", spec), name + ".1")
                   : net.conv(norm_positions(net, x, name + ".0"), name + ".1", spec);
    const std::string blocks = "features." + std::to_string(index++) + ".";
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = block_convnext(net, x, blocks + std::to_string(i));
    }
  }
  x = net.flatten(norm_positions(net, net.global_average(x, "avgpool"), "classifier.0"),
                  "classifier.1");
  return net.finish({{net.linear(x, "classifier.2", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kConvnextTiny = {
    .name = "convnext_tiny",
    .summary = "ConvNeXt, tiny",
    .paper = {.authors = "Liu, Mao, Wu, Feichtenhofer, Darrell, Xie",
              .title = "A ConvNet for the 2020s",
              .where = "CVPR 2022, arXiv:2201.03545"},
    .smallest_image = 32,
    .build = build_convnext_tiny};

}  // namespace trainyard::models
