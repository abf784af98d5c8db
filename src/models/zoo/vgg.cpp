// VGG: 3x3 convolutions only, configurations A, B, D and E of the paper's table 1. The last map is
// pooled to 7x7, which is what 224x224 images give, so that the linear layers and their weights are
// the same for images of any size (torchvision's adaptive pooling).
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// Convolutions before each of the five poolings.
using Depths = std::array<int64_t, 5>;
constexpr std::array<int64_t, 5> kChannels = {64, 128, 256, 512, 512};

constexpr int64_t kPooled = 7;  // height and width of what the linear layers see

// Averages `axis` of a map into windows that cover it evenly: they overlap where its size is no
// multiple, and repeat where it is smaller.
ValueId pool_axis(Net& net, ValueId x, int64_t axis, const std::string& name) {
  const int64_t size = net.extent(x, axis);
  const auto begin = [&](int64_t i) { return i * size / kPooled; };
  const auto end = [&](int64_t i) { return ((i + 1) * size + kPooled - 1) / kPooled; };
  const auto pool = [&](ValueId part, int64_t window, int64_t stride, const std::string& own) {
    const Extent kernel = axis == 2 ? Extent(window, 1) : Extent(1, window);
    const Extent step = axis == 2 ? Extent(stride, 1) : Extent(1, stride);
    return net.average_pool(part, own, {.kernel = kernel, .stride = step});
  };
  if (size == kPooled) return x;
  if (size % kPooled == 0) return pool(x, size / kPooled, size / kPooled, name);
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < kPooled; ++i) {
    const std::string own = name + "." + std::to_string(i);
    const ValueId part =
        net.slice(x, own + ".slice", {{.axis = axis, .begin = begin(i), .end = end(i)}});
    const int64_t window = end(i) - begin(i);
    parts.push_back(window == 1 ? part : pool(part, window, 1, own));
  }
  return net.concat(std::move(parts), name, axis);
}

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
  x = pool_axis(net, x, 2, "avgpool.rows");
  x = pool_axis(net, x, 3, "avgpool.columns");
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
