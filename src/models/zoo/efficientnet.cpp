// EfficientNet B0 as torchvision has it (without its stochastic depth).
#include <algorithm>
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// A row of the paper's table 1.
struct EfficientStage {
  int64_t expansion;
  int64_t kernel;
  int64_t stride;
  int64_t out;
  int64_t repeats;
};

constexpr std::array<EfficientStage, 7> kEfficientStages = {{{1, 3, 1, 16, 1},
                                                             {6, 3, 2, 24, 2},
                                                             {6, 5, 2, 40, 2},
                                                             {6, 3, 2, 80, 3},
                                                             {6, 5, 1, 112, 3},
                                                             {6, 5, 2, 192, 4},
                                                             {6, 3, 1, 320, 1}}};
constexpr int64_t kEfficientSqueeze = 4;

ValueId unit_efficientnet(Net& net, ValueId x, const std::string& name, const ConvSpec& spec) {
  return net.activate(net.conv_norm(x, name + ".0", name + ".1", spec), "Swish", name + ".2");
}

ValueId block_efficientnet(Net& net, ValueId x, const std::string& name,
                           const EfficientStage& stage, int64_t stride) {
  const int64_t in = net.channels(x);
  const int64_t hidden = in * stage.expansion;
  int index = 0;
  const auto next = [&] { return name + ".block." + std::to_string(index++); };
  ValueId y = x;
  if (stage.expansion != 1) y = unit_efficientnet(net, y, next(), {.out = hidden});
  y = unit_efficientnet(net, y, next(),
                        {.out = hidden,
                         .kernel = stage.kernel,
                         .stride = stride,
                         .pad = stage.kernel / 2,
                         .group = hidden});
  y = net.squeeze_excite(y, next(), std::max<int64_t>(1, in / kEfficientSqueeze), "Swish",
                         "Sigmoid");
  const std::string project = next();
  y = net.conv_norm(y, project + ".0", project + ".1", {.out = stage.out});
  return stride == 1 && in == stage.out ? net.add(x, y, name + ".add") : y;
}

Graph build_efficientnet_b0(const ModelOptions& options) {
  Net net("efficientnet_b0", {.fan = FanMode::kOut});
  ValueId x = unit_efficientnet(net, net.image(options), "features.0",
                                {.out = 32, .kernel = 3, .stride = 2, .pad = 1});
  int index = 1;
  for (const EfficientStage& stage : kEfficientStages) {
    const std::string name = "features." + std::to_string(index++) + ".";
    for (int64_t i = 0; i < stage.repeats; ++i) {
      x = block_efficientnet(net, x, name + std::to_string(i), stage, i == 0 ? stage.stride : 1);
    }
  }
  x = unit_efficientnet(net, x, "features." + std::to_string(index), {.out = 1280});
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  x = net.dropout(x, "classifier.0", 0.2F);
  return net.finish({{net.linear(x, "classifier.1", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kEfficientnetB0 = {
    .name = "efficientnet_b0",
    .summary = "EfficientNet B0",
    .paper = {.authors = "Tan, Le",
              .title = "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
              .where = "ICML 2019, arXiv:1905.11946"},
    .smallest_image = 32,
    .build = build_efficientnet_b0};

}  // namespace trainyard::models
