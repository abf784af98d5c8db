// MobileNet v2 as torchvision has it: inverted residuals with linear bottlenecks.
#include <algorithm>
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// A row of the paper's table 2.
struct Stage {
  int64_t expansion;
  int64_t channels;
  int64_t repeats;
  int64_t stride;
};

constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                           {6, 24, 2, 2},
                                           {6, 32, 3, 2},
                                           {6, 64, 4, 2},
                                           {6, 96, 3, 1},
                                           {6, 160, 3, 2},
                                           {6, 320, 1, 1}}};

ValueId unit_mobilenet_v2(Net& net, ValueId x, const std::string& name, const ConvSpec& spec) {
  return net.relu6(net.conv_norm(x, name + ".0", name + ".1", spec), name + ".2");
}

ValueId inverted_residual(Net& net, ValueId x, const std::string& name, int64_t expansion,
                          int64_t out, int64_t stride) {
  const int64_t in = net.channels(x);
  const int64_t hidden = in * expansion;
  int index = 0;
  const auto next = [&] { return name + ".conv." + std::to_string(index++); };
  ValueId y = x;
  if (expansion != 1) y = unit_mobilenet_v2(net, y, next(), {.out = hidden});
  y = unit_mobilenet_v2(net, y, next(),
                        {.out = hidden, .kernel = 3, .stride = stride, .pad = 1, .group = hidden});
  const std::string project = next();
  y = net.conv_norm(y, project, next(), {.out = out});
  return stride == 1 && in == out ? net.add(x, y, name + ".add") : y;
}

Graph build_mobilenet_v2(const ModelOptions& options) {
  Net net("mobilenet_v2", {.fan = FanMode::kOut});
  int index = 0;
  const auto next = [&index] { return "features." + std::to_string(index++); };
  ValueId x = net.image(options);
  x = unit_mobilenet_v2(
      net, x, next(),
      {.out = scaled_channels(32, options.width), .kernel = 3, .stride = 2, .pad = 1});
  for (const Stage& stage : kStages) {
    const int64_t out = scaled_channels(stage.channels, options.width);
    for (int64_t i = 0; i < stage.repeats; ++i) {
      x = inverted_residual(net, x, next(), stage.expansion, out, i == 0 ? stage.stride : 1);
    }
  }
  // The last convolution is never thinner than in the full network.
  x = unit_mobilenet_v2(net, x, next(),
                        {.out = scaled_channels(1280, std::max(1.0, options.width))});
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  x = net.dropout(x, "classifier.0", 0.2F);
  return net.finish({{net.linear(x, "classifier.1", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kMobilenetV2 = {
    .name = "mobilenet_v2",
    .summary = "MobileNet v2; width is the paper's alpha",
    .paper = {.authors = "Sandler, Howard, Zhu, Zhmoginov, Chen",
              .title = "MobileNetV2: Inverted Residuals and Linear Bottlenecks",
              .where = "CVPR 2018, arXiv:1801.04381"},
    .smallest_image = 32,
    .has_width = true,
    .build = build_mobilenet_v2};

}  // namespace trainyard::models
