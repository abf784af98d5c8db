// VGG: 3x3 convolutions only, configurations A, B, D and E of the paper's table 1. The first linear
// layer is as wide as the last map is large; torchvision pools that map to 7x7, which is what
// 224x224 images give.
#include <array>

#include "models/layers.h"

namespace trainyard::models {
namespace {

// Convolutions before each of the five poolings.
using Depths = std::array<int64_t, 5>;
constexpr std::array<int64_t, 5> kChannels = {64, 128, 256, 512, 512};

Graph build_vgg(std::string_view name, const ModelOptions& options, const Depths& depths) {
  Net net(name);
  ValueId x = net.image(options);
  int index = 0;
  const auto next = [&index] { return "features." + std::to_string(index++); };
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    for (int64_t i = 0; i < depths[stage]; ++i) {
      x = net.conv(x, next(), {.out = kChannels[stage], .kernel = 3, .pad = 1});
      x = net.relu(x, next());
    }
    x = net.max_pool(x, next(), {.kernel = 2, .stride = 2});
  }
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, "classifier.0", 4096), "classifier.1");
  x = net.dropout(x, "classifier.2", 0.5F);
  x = net.relu(net.linear(x, "classifier.3", 4096), "classifier.4");
  x = net.dropout(x, "classifier.5", 0.5F);
  return net.finish({{net.linear(x, "classifier.6", options.classes), "logits"}});
}

constexpr ModelDef vgg(std::string_view name, std::string_view summary, BuildFunction function) {
  return {.name = name,
          .summary = summary,
          .paper = {.authors = "Simonyan, Zisserman",
                    .title = "Very Deep Convolutional Networks for Large-Scale Image Recognition",
                    .where = "ICLR 2015, arXiv:1409.1556"},
          .smallest_image = 32,
          .build = function};
}

}  // namespace

extern const ModelDef kVgg11 = vgg("vgg11", "VGG, configuration A", [](const ModelOptions& o) {
  return build_vgg("vgg11", o, {1, 1, 2, 2, 2});
});
extern const ModelDef kVgg13 = vgg("vgg13", "VGG, configuration B", [](const ModelOptions& o) {
  return build_vgg("vgg13", o, {2, 2, 2, 2, 2});
});
extern const ModelDef kVgg16 = vgg("vgg16", "VGG, configuration D", [](const ModelOptions& o) {
  return build_vgg("vgg16", o, {2, 2, 3, 3, 3});
});
extern const ModelDef kVgg19 = vgg("vgg19", "VGG, configuration E", [](const ModelOptions& o) {
  return build_vgg("vgg19", o, {2, 2, 4, 4, 4});
});

}  // namespace trainyard::models
