// MobileNet v1: depthwise and pointwise convolutions in turn. The last depthwise convolution has
// stride 1; the 2 in the paper's table 1 contradicts its own map sizes.
#include "models/zoo/mobilenet_v1.h"

#include <array>

namespace trainyard::models {
namespace {

struct MobilenetV1Block {
  int64_t out;
  int64_t stride = 1;
};

constexpr std::array<MobilenetV1Block, 13> kBlocks = {{{64},
                                                       {128, 2},
                                                       {128},
                                                       {256, 2},
                                                       {256},
                                                       {512, 2},
                                                       {512},
                                                       {512},
                                                       {512},
                                                       {512},
                                                       {512},
                                                       {1024, 2},
                                                       {1024}}};
constexpr size_t kLastBlockOfStride8 = 5;
constexpr size_t kLastBlockOfStride16 = 11;

ValueId unit_mobilenet_v1(Net& net, ValueId x, const std::string& name, const ConvSpec& spec) {
  return net.relu(net.conv_norm(x, name, name + ".bn", spec), name + ".relu");
}

Graph build_mobilenet_v1(const ModelOptions& options) {
  Net net("mobilenet_v1");
  ValueId x = mobilenet_v1_maps(net, net.image(options), options.width).stride32;
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  return net.finish({{net.linear(x, "fc", options.classes), "logits"}});
}

}  // namespace

MobilenetV1Maps mobilenet_v1_maps(Net& net, ValueId image, double width) {
  MobilenetV1Maps maps;
  ValueId x = unit_mobilenet_v1(
      net, image, "conv1", {.out = scaled_channels(32, width), .kernel = 3, .stride = 2, .pad = 1});
  for (size_t i = 1; i <= kBlocks.size(); ++i) {
    const MobilenetV1Block& block = kBlocks[i - 1];
    const std::string name = "block" + std::to_string(i);
    const int64_t in = net.channels(x);
    x = unit_mobilenet_v1(net, x, name + ".depthwise",
                          {.out = in, .kernel = 3, .stride = block.stride, .pad = 1, .group = in});
    x = unit_mobilenet_v1(net, x, name + ".pointwise", {.out = scaled_channels(block.out, width)});
    if (i == kLastBlockOfStride8) maps.stride8 = x;
    if (i == kLastBlockOfStride16) maps.stride16 = x;
  }
  maps.stride32 = x;
  return maps;
}

extern const ModelDef kMobilenetV1 = {
    .name = "mobilenet_v1",
    .summary = "MobileNet v1; width is the paper's alpha",
    .paper =
        {.authors = "Howard, Zhu, Chen, Kalenichenko, Wang, Weyand, Andreetto, Adam",
         .title =
             "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications",
         .where = "arXiv:1704.04861"},
    .smallest_image = 32,
    .has_width = true,
    .build = build_mobilenet_v1};

}  // namespace trainyard::models
